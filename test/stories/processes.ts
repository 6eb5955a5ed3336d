/**
 * Processes that a command of the agent has started: their ids, and whether they still run.
 */
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { waitLimitMs } from '../kit/wait-limit.ts'

/** Rejects when that takes too long. */
export async function until(isTrue: () => boolean): Promise<void> {
  for (const end = performance.now() + waitLimitMs(); !isTrue(); await setTimeout(20))
    if (performance.now() > end) throw new Error(`waited in vain for ${String(isTrue)}`)
}

/** The number in the first line of a file, once it is complete. */
export async function numberIn(file: string): Promise<number> {
  await until(() => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'))
  return Number(readFileSync(file, 'utf8'))
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
