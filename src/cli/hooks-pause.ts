/**
 * `hermes hooks pause` and `hermes hooks resume`: through the daemon, or without one in the file that it reads at its start.
 */
import { readPaused, writePaused } from '../hooks/paused.ts'
import type { CliContext } from './context.ts'
import { knownHooks, runnableHook } from './hooks-known.ts'

export async function hooksPause(context: CliContext, name: string): Promise<void> {
  await change(context, name, 'pause')
  context.output.write(`${name} hears nothing until \`hermes hooks resume ${name}\`.\n`)
}

export async function hooksResume(context: CliContext, name: string): Promise<void> {
  await change(context, name, 'resume')
  context.output.write(`${name} hears its events again.\n`)
}

async function change({ home, ...rest }: CliContext, name: string, how: 'pause' | 'resume'): Promise<void> {
  const { daemon, hooks } = await knownHooks({ home, ...rest })
  runnableHook(name, hooks)
  if (daemon !== undefined) return await daemon.post(`/api/hooks/${how}`, { name })
  const paused = readPaused(home.hooks)
  if (how === 'pause') paused.add(name)
  else paused.delete(name)
  writePaused(home.hooks, paused)
}
