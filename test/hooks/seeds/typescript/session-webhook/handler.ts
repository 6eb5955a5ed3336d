/**
 * Tells an outside service of every new session.
 */
import type { HookContext } from '#sdk'

const address = 'https://your-service.example.com/hermes-events'

export async function handle(event: string, context: HookContext): Promise<void> {
  await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ event, ...context }),
    signal: AbortSignal.timeout(5_000),
  })
}
