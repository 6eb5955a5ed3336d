/**
 * How commands and groups of commands are defined, and the options that several commands have.
 */
import type { Command } from 'commander'
import { HermesError } from '../../lib/errors.ts'
import type { CliContext } from '../kit/context.ts'

export const json = ['--json', 'print JSON, for scripts', false] as const

/** A mistyped number does not fill the screen for minutes. */
export const maxResults = 10_000

export const limit = ['--limit <number>', 'maximum number of results', parseCount('--limit', maxResults), 20] as const

/** Commander gives a command its operands and options untyped, as a method takes them. */
type CommandCode = { call(context: CliContext, ...args: unknown[]): unknown }['call']

/** A command to which others are added: the program itself, or a group. */
export interface Commands {
  readonly command: Command
  readonly context: CliContext
  /** A command that only has subcommands. */
  group(name: string, description: string): Commands
  /**
   * Adds a command: with the file that has its code and is imported when it runs, its operands, the name of its code, what it
   * does, and its options.
   */
  add<Name extends string>(file: CodeFile<Name>, ...command: Added<Name>): Command
  /** The same for several commands of one file, and for one whose line would be too long. */
  from<Name extends string>(file: CodeFile<Name>): { add(...command: Added<Name>): Command }
}

type CodeFile<Name extends string> = () => Promise<Readonly<Record<Name, CommandCode>>>

type Added<Name extends string> = [usage: string, name: Name, summary: string, ...options: readonly Switch[]]

/** An option that takes no value has a third part. */
type Switch = readonly [flags: string, description: string, value?: false]

export function commandsOf(command: Command, context: CliContext): Commands {
  const add: Commands['add'] = (file, usage, name, summary, ...options) => {
    const added = command.command(usage).summary(summary).description(summary)
    for (const option of options) added.option(...option)
    return added.action(async (...args: unknown[]) => {
      await (await file())[name](context, ...args)
    })
  }
  return {
    command,
    context,
    group: (name, description) =>
      commandsOf(
        command.command(name).description(description).usage('<command> [options]').helpCommand(false),
        context,
      ),
    add,
    from: (file) => ({ add: (...added) => add(file, ...added) }),
  }
}

export function parseNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new HermesError('cli/usage', `Expected a number from the list, found ${JSON.stringify(text)}.`)
}

/** A number of `option`. */
export function parseCount(option: string, max: number, min = 1): (text: string) => number {
  return (text) => {
    const count = /^\d{1,7}$/.test(text) ? Number(text) : -1
    if (count >= min && count <= max) return count
    throw new HermesError(
      'cli/usage',
      `${option}: expected a number from ${min} to ${max}, found ${JSON.stringify(text)}.`,
    )
  }
}
