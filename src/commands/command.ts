/**
 * The contract of a slash command, which the gateway handles without the model. A command is one value: menus, help, completion,
 * the ceiling of roles and the table of the docs follow from it.
 */
import type { Authority } from '../message/authority.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import type { TransactionPart } from '../store/query.ts'
import type { TypedMessage } from './busy.ts'

export interface CommandContext {
  readonly source: SessionSource
  /** The person who gave the command, and what that person may cause. */
  readonly authority: Authority
  readonly sessionKey: SessionKey
  /** The canonical name. */
  readonly name: string
  readonly args: string
  /** The first of them, if they come from an alias of the operator. */
  readonly argsBefore?: string | undefined
  /** The typed name, without the slash. */
  readonly rawCommand: string
  /** The message in which it was typed; absent for a command of the agent. */
  readonly message?: TypedMessage | undefined
  readonly signal: AbortSignal
}

/** What is known of a command before it runs. */
export interface CommandDescription {
  /** Canonical, lower case. */
  readonly name: string
  readonly aliases: readonly string[]
  readonly description: string
  /** Shown after the name in /help, for example `[name]`. */
  readonly argsHint: string
  /** The only arguments that it takes, for menus; at most 25. Absent when it takes any text. */
  readonly choices?: readonly string[] | undefined
  /** It changes the conversation for everybody in it: in one that several people share, guests may not use it. */
  readonly changesForAll?: boolean
  /** Arguments before those that are typed, of an alias of the operator. */
  readonly argsBefore?: string
  /**
   * `control` runs at once, also during a turn; `turn` waits in the queue of the session.
   * All built-in commands are `control`.
   */
  readonly queue: 'control' | 'turn'
  /**
   * The destructive effect, as a sentence that continues the command name. The user must confirm it first when
   * `approvals.destructive_slash_confirm` is set. Without it the command runs at once.
   */
  readonly destructiveEffect?: string
  /** The setting that decides about the confirmation, if it is another one. */
  readonly confirmedBy?: 'mcp_reload_confirm'
  /** Whom the command is for; without it, for everybody. */
  readonly minimumRole?: 'owner' | undefined
  /** A recovery command: hooks are notified after it and cannot block it (contract §1.5). */
  readonly bypassesHooks?: boolean
  /** Answers an open question. Without one it waits for the commands before it, which may ask. */
  readonly answersQuestion?: boolean
}

/** A command as it is written: its handler receives the one port that it needs. */
export interface Command<Port> extends CommandDescription {
  /** Returns the reply as markdown; '' sends no reply. May throw: the user receives the reason. */
  run(context: CommandContext, port: Port): Promise<string | TransactionPart<string>>
}

/** A command of a gateway: its handler has its port. */
export interface CommandDefinition extends CommandDescription {
  /** Runs the command like `Command.run`. */
  run(context: CommandContext): Promise<string | TransactionPart<string>>
}

type Defaults = 'aliases' | 'argsHint' | 'queue'

/** Without other values, a command has one name, takes no arguments but its choices, and runs at once. */
export function defineCommand<Port>(
  command: Omit<Command<Port>, Defaults> & Partial<Pick<CommandDescription, Defaults>>,
): Command<Port> {
  const argsHint = command.choices === undefined ? '' : `[${command.choices.join('|')}]`
  return { aliases: [], argsHint, queue: 'control', ...command }
}

/** A reply that changes nothing. */
export function textReply(text: string): TransactionPart<string> {
  return {
    // biome-ignore lint/correctness/useYield: a transaction without a query
    *write() {
      return text
    },
  }
}
