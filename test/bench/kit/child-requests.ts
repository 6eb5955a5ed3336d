/**
 * Requests to a process of the benchmark over its IPC channel, and their responses.
 */
import type { ChildProcess } from 'node:child_process'
import { z } from 'zod'

/** Sends a request and resolves with its parsed response. Rejects when the process exits or reports an error. */
export type SendRequest = <T>(
  question: string,
  details: Readonly<Record<string, unknown>>,
  answer: z.ZodType<T>,
) => Promise<T>

const replySchema = z.object({ id: z.number(), value: z.unknown().optional(), error: z.string().optional() })

export function createSendRequest(child: ChildProcess, name: string): SendRequest {
  const open = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let last = 0
  child.on('message', (message) => {
    const { id, value, error } = replySchema.parse(message)
    const waiter = open.get(id)
    open.delete(id)
    if (error === undefined) waiter?.resolve(value)
    else waiter?.reject(new Error(`${name}: ${error}`))
  })
  child.once('exit', (code, signal) => {
    for (const { reject } of open.values()) reject(new Error(`${name} ended (${signal ?? code})`))
    open.clear()
  })
  return async (question, details, answer) => {
    last += 1
    const id = last
    const reply = await new Promise<unknown>((resolve, reject) => {
      open.set(id, { resolve, reject })
      child.send({ id, question, ...details }, (error) => {
        if (error !== null) reject(error)
      })
    })
    return answer.parse(reply)
  }
}

const questionSchema = z.looseObject({ id: z.number(), question: z.string() })

/**
 * The other side: handles the requests of this name. An error of the handler is sent to the caller. The process exits
 * when its parent disconnects.
 */
export function handleRequest<T>(name: string, details: z.ZodType<T>, handle: (details: T) => unknown): void {
  if (process.listenerCount('disconnect') === 0) process.on('disconnect', () => process.exit())
  process.on('message', async (message) => {
    const { id, question } = questionSchema.parse(message)
    if (question !== name) return
    try {
      process.send?.({ id, value: await handle(details.parse(message)) })
    } catch (error) {
      process.send?.({ id, error: String(error) })
    }
  })
}
