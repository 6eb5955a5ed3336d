/**
 * The client of the benchmark's chat server: polls as Telegram does and sends one message per call. The gateway's
 * adapter and the bare loop use this file, so that its cost cancels out.
 */
import { z } from 'zod'

const updatesSchema = z.array(z.object({ id: z.number(), chat: z.string(), text: z.string() }))
export type Update = z.infer<typeof updatesSchema>[number]

/**
 * Passes new messages to `take` until the signal aborts. The next poll acknowledges those that `take` has processed.
 */
export async function poll(url: string, take: (update: Update) => Promise<void>, signal: AbortSignal): Promise<void> {
  let offset = 0
  while (!signal.aborted) {
    const updates = updatesSchema.parse(await call(`${url}/updates`, { offset }, signal))
    await Promise.all(updates.map(take))
    offset = Math.max(offset, ...updates.map(({ id }) => id + 1))
  }
}

export async function send(url: string, chat: string, text: string): Promise<void> {
  await call(`${url}/send`, { chat, text })
}

async function call(url: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  })
  return response.json()
}
