/**
 * The agent's list of steps, kept for the duration of a session.
 */
import { asArray, asRecord, asString } from '../../lib/json.ts'
import { toErrorJson, toResultJson } from '../support/result-json.ts'
import type { TodoItem } from '../support/todo-list.ts'
import { applyTodoCall, todoArguments } from '../support/todo-list.ts'
import { defineToolCode } from './tool.ts'

const text = { type: 'string' } as const

/** Shorter than a derived one, because it is a part of every request. */
const jsonSchema = {
  type: 'object',
  properties: {
    todos: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: text,
          content: text,
          status: { type: 'string', enum: ['pending', 'in_progress', 'completed', 'cancelled'] },
        },
        required: ['id'],
      },
    },
    merge: { type: 'boolean' },
  },
}

export const todoTool = defineToolCode({
  name: 'todo',
  description: 'Your steps, for three or more. todos replaces it; with merge it updates by id. Without: reads it.',
  parameters: todoArguments,
  jsonSchema,
  mode: 'idempotent',
  label: ({ todos, merge }) =>
    todos === undefined ? 'read' : merge === true ? `${todos.length} updated` : progressSummary(todos),
  summarize: ({ todos, summary }) => {
    const current = asArray(todos)
      .map(asRecord)
      .find(({ status }) => status === 'in_progress')
    return [asString(summary), asString(current?.['content'])].filter(Boolean).join(': ')
  },

  async run(call, { session: { todos: store }, limits }) {
    if (call.todos !== undefined) {
      const change = applyTodoCall(store.read(), call)
      if (!change.ok) return toErrorJson(change)
      store.write(change.items)
    }
    const items = store.read()
    return toResultJson({ todos: items, summary: progressSummary(items) }, limits.maxResultChars)
  },
})

function progressSummary(items: readonly { readonly status?: TodoItem['status'] | undefined }[]): string {
  const done = items.filter(({ status }) => status === 'completed' || status === 'cancelled').length
  return `${done} of ${items.length} done`
}
