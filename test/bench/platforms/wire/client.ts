/**
 * Speaks to the chat server of the bench: polls as Telegram does, sends one message per call. The gateway's adapter and
 * the bare loop use this same file, so that its cost cancels out.
 */
import { z } from 'zod'

const updatesSchema = z.array(z.object({ id: z.number(), chat: z.string(), text: z.string() }))
export type Update = z.infer<typeof updatesSchema>[number]

/** Hands over what people write until the signal aborts; the next poll acknowledges what `take` has resolved. */
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
