/**
 * Writes every event of the agent into a file beside this one.
 */
import { appendFile } from 'node:fs/promises'
import type { HookContext } from '#sdk'

const logFile = new URL('./activity.log', import.meta.url)

/** Called for each event of HOOK.yaml. */
export async function handle(event: string, context: HookContext): Promise<void> {
  const entry = { timestamp: new Date().toISOString(), event, ...context }
  await appendFile(logFile, `${JSON.stringify(entry)}\n`)
}
