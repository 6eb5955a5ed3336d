/**
 * Runs the agent with the instructions of BOOT.md at every start of the gateway (contract §1.6). The agent works in the
 * background and does not delay the start. Its reply goes to the home channel, unless there is nothing to report.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { HookEvents, HookServices } from '#sdk'

export async function handle(
  _event: string,
  { platforms }: HookEvents['gateway:startup'],
  { gateway, log }: HookServices,
): Promise<void> {
  const checklist = (await readFile(join(process.env['HERMES_HOME'] ?? '.', 'BOOT.md'), 'utf8')).trim()
  if (checklist === '') return
  const task = await gateway.startAgent(promptFor(checklist, platforms), { maxIterations: 20, route: 'boot' })
  log.info('started the agent with BOOT.md', { task })
}

function promptFor(checklist: string, platforms: readonly string[]): string {
  return `The gateway has just started${platforms.length === 0 ? '' : `; connected are ${platforms.join(', ')}`}. Its owner left this checklist for every start. Work through it, step by step.

--- BOOT.md ---
${checklist}
--- end of BOOT.md ---

Your last answer is sent to the owner: say what you did and what needs attention. If there is nothing to report, reply with only: [SILENT]`
}
