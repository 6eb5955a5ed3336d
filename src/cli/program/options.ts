/**
 * Options that several commands have, how their values are read, and how the code of a command is found.
 */
import { HermesError } from '../../lib/errors.ts'
import type { CliContext } from '../kit/context.ts'

export interface JsonOption {
  readonly json: boolean
}

export const json = ['--json', 'print JSON, for scripts', false] as const

export const limit = ['--limit <number>', 'maximum number of results', parseLimit('--limit'), 20] as const

/** The action of a command, whose file is loaded only then. It gets the arguments and the options of the command. */
export function run<Args extends unknown[]>(
  context: CliContext,
  load: () => Promise<(context: CliContext, ...args: Args) => unknown>,
) {
  return async (...args: Args): Promise<void> => {
    await (await load())(context, ...args)
  }
}

export function parseNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new HermesError('cli/usage', `Expected a number from the list, found ${JSON.stringify(text)}.`)
}

export function parseTimeout(text: string): number {
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : -1
  if (seconds >= 0 && seconds <= 120) return seconds
  throw new HermesError('cli/usage', `--timeout: expected a number from 0 to 120, found ${JSON.stringify(text)}.`)
}

/** A number of results. A maximum keeps a mistyped one from filling the screen for minutes. */
export function parseLimit(option: string): (text: string) => number {
  return (text) => {
    const count = /^\d{1,5}$/.test(text) ? Number(text) : 0
    if (count >= 1 && count <= 10_000) return count
    throw new HermesError('cli/usage', `${option}: expected a number from 1 to 10000, found ${JSON.stringify(text)}.`)
  }
}
