/**
 * The agent's list of steps, kept for the duration of a session.
 */
import { z } from 'zod'
import { toErrorJson, toResultJson } from './support/result-json.ts'
import { defineTool, type TodoItem } from './tool.ts'

const statuses = ['pending', 'in_progress', 'completed', 'cancelled'] as const

const parameters = z.object({
  todos: z
    .array(z.object({ id: z.string(), content: z.string().max(1_000), status: z.enum(statuses) }))
    .max(200)
    .optional(),
})

export default defineTool({
  name: 'todo',
  toolset: 'todo',
  description:
    'Your list of steps for work of three steps or more. With todos: replaces the whole list. Without: reads it.',
  parameters,
  mode: 'idempotent',
  label: ({ todos }) => (todos === undefined ? 'read' : progressSummary(todos)),

  async run({ todos }, { todos: store, limits }) {
    if (todos !== undefined) {
      const duplicate = todos.find((item, index) => todos.findIndex((other) => other.id === item.id) !== index)
      if (duplicate !== undefined)
        return toErrorJson({
          code: 'duplicate_id',
          reason: `The id ${JSON.stringify(duplicate.id)} is used twice; nothing was changed.`,
        })
      store.write(todos)
    }
    const items = store.read()
    return toResultJson({ todos: items, summary: progressSummary(items) }, limits.maxResultChars)
  },
})

function progressSummary(items: readonly TodoItem[]): string {
  const done = items.filter((item) => item.status === 'completed' || item.status === 'cancelled').length
  return `${done} of ${items.length} done`
}
