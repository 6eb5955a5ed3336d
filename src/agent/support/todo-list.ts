/**
 * The list of steps of the `todo` tool: what a call makes of it. The transcript keeps the calls, so that a list can be restored.
 */
import { z } from 'zod'

const statuses = ['pending', 'in_progress', 'completed', 'cancelled'] as const
const maxSteps = 200

export const todoArguments = z.object({
  todos: z
    .array(
      z.object({
        id: z.string(),
        content: z.string().max(1_000).optional(),
        status: z.enum(statuses).optional(),
      }),
    )
    .max(maxSteps)
    .optional(),
  merge: z.boolean().optional(),
})

export type TodoCall = z.output<typeof todoArguments>

export type TodoChange =
  | { readonly ok: true; readonly items: readonly TodoItem[] }
  /** `reason` is a sentence for the model. The list stays as it is. */
  | { readonly ok: false; readonly code: 'duplicate_id' | 'missing_content' | 'too_many'; readonly reason: string }

/**
 * The list after a call. With `merge`, a step with a known id takes what the call gives for it, and a new one comes last
 * (Hermes Agent, `todo_tool`); otherwise the steps of the call replace the list.
 */
export function applyTodoCall(
  current: readonly TodoItem[],
  { todos = [], merge = false }: Pick<TodoCall, 'todos' | 'merge'>,
): TodoChange {
  const ids = new Set<string>()
  const steps = new Map(merge ? current.map((item) => [item.id, item]) : [])
  for (const { id, content, status } of todos) {
    if (ids.has(id)) return refuse('duplicate_id', `The id ${JSON.stringify(id)} is used twice; nothing was changed.`)
    ids.add(id)
    const known = steps.get(id)
    const text = content ?? known?.content
    if (text === undefined)
      return refuse(
        'missing_content',
        `The step ${JSON.stringify(id)} is new and has no content; nothing was changed.${merge ? '' : ' merge: true changes steps by their ids.'}`,
      )
    steps.set(id, { id, content: text, status: status ?? known?.status ?? 'pending' })
  }
  if (steps.size > maxSteps)
    return refuse('too_many', `The list would have ${steps.size} steps, more than ${maxSteps}; nothing was changed.`)
  return { ok: true, items: [...steps.values()] }
}

function refuse(code: Extract<TodoChange, { ok: false }>['code'], reason: string): TodoChange {
  return { ok: false, code, reason }
}

/**
 * The list that a `todo` call wrote, which may change the `earlier` one; null for a call that wrote none. `json`: the arguments
 * of the call, or its result.
 */
export function readTodoCall(json: string, earlier: readonly TodoItem[]): readonly TodoItem[] | null {
  try {
    const call = todoArguments.parse(JSON.parse(json))
    const change = call.todos === undefined ? undefined : applyTodoCall(earlier, call)
    return change?.ok === true ? change.items : null
  } catch {
    // The result of the call has told the model what is wrong.
    return null
  }
}

export interface TodoItem {
  readonly id: string
  readonly content: string
  readonly status: 'pending' | 'in_progress' | 'completed' | 'cancelled'
}

export interface TodoStore {
  read(): readonly TodoItem[]
  write(items: readonly TodoItem[]): void
}
