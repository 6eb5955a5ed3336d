/**
 * What several stories look at: what the model was sent, what lies in the database.
 */
import { DatabaseSync } from 'node:sqlite'
import type { HomeLayout } from '../../src/lib/home.ts'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'

/** The conversation that a request carried, without the system prompt: one line a message. */
export function conversation(request: RecordedRequest | undefined): string[] {
  const messages = request?.body['messages']
  if (!Array.isArray(messages)) throw new Error('the request carries no messages')
  return messages.filter(({ role }) => role !== 'system').map(({ role, content }) => `${role}: ${content}`)
}

/** Reads the database of a home beside the gateway. */
export function rowsIn(home: HomeLayout, sql: string): Record<string, unknown>[] {
  const db = new DatabaseSync(home.databaseFile, { readOnly: true })
  try {
    return db.prepare(sql).all()
  } finally {
    db.close()
  }
}

/** An answer that asks for a command in the terminal. */
export function terminalCall(command: string): ModelReply {
  return { toolCalls: [{ name: 'terminal', arguments: { command } }] }
}

/** Whether the last message of a request is the result of a tool. */
export function hasResult({ body }: RecordedRequest): boolean {
  const messages = body['messages']
  return Array.isArray(messages) && messages.at(-1)?.role === 'tool'
}

/** The value inside a JSON answer: `at(answer, 'error', 'code')`; undefined where there is none. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value
  for (const name of path) {
    if (typeof found !== 'object' || found === null) return undefined
    found = new Map(Object.entries(found)).get(String(name))
  }
  return found
}
