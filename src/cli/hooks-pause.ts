/**
 * `hermes hooks pause` and `hermes hooks resume`: through the daemon, or in the file that it reads at its start.
 */
import { callRoute } from '../api/client.ts'
import { pauseHook, resumeHook } from '../api/routes/extensions.ts'
import { readPaused, writePaused } from '../hooks/paused-hooks.ts'
import type { CliContext } from './kit/context.ts'
import { findRunnableHook, loadKnownHooks } from './shared/known-hooks.ts'

export async function hooksPause(context: CliContext, name: string): Promise<void> {
  await setPaused(context, name, 'pause')
  context.output.write(`${name} receives no events until \`hermes hooks resume ${name}\`.\n`)
}

export async function hooksResume(context: CliContext, name: string): Promise<void> {
  await setPaused(context, name, 'resume')
  context.output.write(`${name} receives its events again.\n`)
}

async function setPaused({ home, ...rest }: CliContext, name: string, action: 'pause' | 'resume'): Promise<void> {
  const { daemon, hooks } = await loadKnownHooks({ home, ...rest })
  findRunnableHook(name, hooks)
  if (daemon !== undefined) {
    await callRoute(daemon, action === 'pause' ? pauseHook : resumeHook, { body: { name } })
    return
  }
  const paused = readPaused(home.hooks)
  if (action === 'pause') paused.add(name)
  else paused.delete(name)
  writePaused(home.hooks, paused)
}
