/**
 * The contract of a tool: a function the model may call.
 */

import type { z } from 'zod'
import { CodedError } from '../../lib/errors.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { ImagePart, ToolMode } from '../../message/transcript.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { TransactionPart } from '../../store/query.ts'
import type { Environment, ProcessTable, ShellState } from '../environments/environment.ts'
import type { SubagentResult, SubagentRole } from '../support/subagent-result.ts'
import type { TodoStore } from '../support/todo-list.ts'

/** What every call gets. What single tools need besides is given to their factories (`built-in-tools.ts`). */
export interface ToolContext {
  /** The session of the caller: a sub-agent has a session and a turn of its own within the turn of its parent. */
  readonly sessionId: string
  readonly turnId: string
  readonly callId: string
  readonly signal: AbortSignal
  /** The turn to which the call belongs, and whose authority it has. */
  readonly turn: CallingTurn
  /** Runs commands; its directory is the base of relative paths. */
  readonly environment: Environment
  readonly session: SessionState
  readonly conversation: ConversationFiles
  readonly limits: ToolLimits
  /** A user, or the configuration, allowed this call with these arguments here. Only set for tools with `approval`. */
  readonly isApproved?: boolean
  /** Absent where sub-agents are not available. */
  readonly subagents?: SubagentStarter
  /** Absent outside of turns. */
  readonly loop?: CallingLoop
}

/** A plugin outside of turns has neither an event nor a chat. */
export type CallingTurn = Pick<Turn, 'sessionId' | 'id' | 'transcript' | 'authority'> &
  Partial<Pick<Turn, 'seq' | 'sessionKey' | 'event' | 'settings'>>

/** What a session keeps between its calls. */
export interface SessionState {
  readonly processes: ProcessTable
  /** The agent's list of steps. The `todo` tool replaces or changes it. */
  readonly todos: TodoStore
  /** What the last command has left to this one. Absent: nothing. */
  readonly shell?: ShellState | undefined
}

export interface ConversationFiles {
  /** Paths of the downloaded files of this conversation. The sandbox hides the files of other conversations. */
  attachments(): Promise<readonly string[]>
  /** The pictures of this conversation that models can be shown. */
  pictures(): Promise<readonly ConversationPicture[]>
}

/** What the loop that runs a call does for it. */
export interface CallingLoop {
  /**
   * Stores something in the transaction that stores the result of this call, so that both are stored or neither. The last
   * write of a call counts, and none of a call that fails.
   */
  writeWithResult(write: TransactionPart): void
  /** Shows the model a stored picture with the result of this call. Absent: the model does not see. */
  showPicture?(image: ImagePart): void
  /**
   * Runs another tool as the model would call it: plugins, policy, approvals and the ceiling of the role apply. Resolves with its
   * result, which describes a failure.
   */
  callTool(name: string, args: JsonObject, signal: AbortSignal): Promise<string>
}

/** What a service needs to know of a call. */
export type ToolCaller = Pick<ToolContext, 'turn' | 'callId'>

/** Called before files are changed. Rejects only with the reason of the signal. */
export type BeforeChange = (change: UpcomingChange, call: ToolContext) => Promise<void>

/** What a tool is about to do to files. */
export interface UpcomingChange {
  readonly tool: string
  /** Absolute paths in the environment: files, or the folder of a command. */
  readonly paths: readonly string[]
  /** The command of `terminal`. */
  readonly command?: string
  /** The paths are folders in which anything may change. Default: with a command. */
  readonly areDirectories?: boolean
}

export interface ConversationPicture {
  readonly path: string
  readonly image: ImagePart
}

export interface SubagentStarter {
  /**
   * Runs all tasks in parallel and returns their results in the order of the tasks. When the signal aborts, it aborts all
   * sub-agents and rejects with the signal's reason. Rejects with `DelegationRefused` before any of them has started.
   */
  delegate(tasks: readonly SubagentTask[], signal: AbortSignal): Promise<readonly SubagentResult[]>
  /** Resolves with one sub-agent, which goes on after the turn, for each task once all are stored. Rejects as `delegate`, or as the inbox. */
  delegateInBackground(tasks: readonly SubagentTask[]): Promise<readonly StartedSubagent[]>
}

export interface SubagentTask {
  readonly goal: string
  /** '' for none. */
  readonly context: string
  /** Absent: `delegation.default_toolsets`. */
  readonly toolsets?: readonly string[]
  /** Absent: `leaf`. */
  readonly role?: SubagentRole
  /** Absent: `delegation.model`, or the model of the turn. */
  readonly model?: string | undefined
  /** Paths of pictures. */
  readonly images?: readonly string[]
  /** A JSON Schema that the answer must match. */
  readonly outputSchema?: JsonObject
}

export interface StartedSubagent {
  readonly id: string
  /** What it does not get of what was asked for; '' for nothing. */
  readonly note: string
}

/** The tasks cannot be given to sub-agents. None was started. The message is for the model. */
export class DelegationRefused extends CodedError {}

/** Why a call may run only after a user has allowed it. */
export interface ApprovalNeed {
  /**
   * `plugin`: a plugin requires it; `policy`: the tool itself does, and the configuration may settle it (`approvals.mode`);
   * `conversation`: its user has chosen to be asked.
   */
  readonly source: 'plugin' | 'policy' | 'conversation'
  /** The rule that requires it: `remove-recursive`. */
  readonly ruleKey: string
  /** For the user, '' for none: one sentence. */
  readonly reason: string
  /** The text that runs; by default the arguments are shown. */
  readonly command?: string
  /** What would change in files, in place of the arguments. `diff`: hunks of a unified diff. */
  readonly changes?: readonly {
    readonly path: string
    readonly kind: 'create' | 'change' | 'delete'
    readonly diff: string
  }[]
  /** Where it runs, for the user; a part of what an answer holds for. '' for tools without a place. */
  readonly place: string
  /** `call`: each call is asked; `session`: the answer may hold for the conversation; `always`: for ever. */
  readonly remember: 'call' | 'session' | 'always'
  /** The calls that a remembered answer covers, as an entry of `command_allowlist`. */
  readonly shape?: string | undefined
  /** No configuration settles it, and only an owner may answer. */
  readonly ownerOnly?: boolean
}

export interface ToolLimits {
  /** What the model gets of a result at most. */
  readonly maxResultChars: number
  /**
   * A longer result is truncated by the tool, in the middle and with a note. What is longer than `maxResultChars` is stored as
   * a file. Absent: nothing is stored, and `maxResultChars` counts.
   */
  readonly maxStoredChars?: number
}

/**
 * What is known of a tool without its code. `built-in-tools.ts` has the facts of the built-in tools; the tool of a plugin that
 * replaces a built-in one has the same unless it says otherwise.
 */
export interface ToolFacts {
  readonly name: string
  /** The toolset by which configuration disables it: `terminal`, `file`, `todo` … */
  readonly toolset: string
  /**
   * Whether calls may run at the same time as others of this kind; absent: each runs alone. A tool with `approval` has it not: two
   * questions would confuse.
   */
  readonly runsInParallel?: boolean | FileUse | undefined
  /** Tools that do a part of what this one can: where one of them is not permitted or not offered, this one is not either. */
  readonly requires?: readonly string[] | undefined
  /** Offered only where a list of toolsets names the tool or its toolset: `all` is not enough. */
  readonly isOptional?: boolean | undefined
  /** Toolsets that have all tools, or all for code, but not this one: `hermes-acp`. */
  readonly leftOutOf?: readonly string[] | undefined
  /** The turns in which it has no use, each with the reason for the model. */
  readonly uselessIn?: Readonly<Partial<Record<TurnKind, string>>> | undefined
  /** Alone, without tools that do something, it is not offered. */
  readonly servesOthers?: boolean | undefined
  /** No sub-agent gets it. */
  readonly isWithheldFromSubagents?: boolean | undefined
  /** How it acts on the machine itself where no sandbox stands between: then only owners may cause it. */
  readonly machine?: 'changes' | 'runs-commands' | undefined
  /** Its arguments in the order of Hermes' function, by which a script of `execute_code` may call it. */
  readonly scriptArguments?: readonly string[] | undefined
}

/** Calls run at the same time unless one of them writes what another one uses. */
export interface FileUse {
  readonly writes: boolean
  /** The path that a call uses; anything but a text if it is not known. */
  path(args: JsonObject): unknown
}

/** `background`: a task, not a message; `scheduled`: by a job; `unattended`: no one waits; `unanswerable`: no one can be asked. */
export type TurnKind = 'background' | 'scheduled' | 'unattended' | 'unanswerable'

/** What a tool does. */
export interface ToolCode<Schema extends z.ZodType = z.ZodType> extends Pick<ToolFacts, 'name' | 'isOptional'> {
  readonly description: string
  /** `run` receives the parsed, typed arguments. Unknown keys are dropped with a warning. */
  readonly parameters: Schema
  /** The JSON Schema that the model receives; derived from `parameters` by default. */
  readonly jsonSchema?: JsonObject
  /** `parameters` takes arguments that `jsonSchema` does not show, because each request contains it. */
  readonly acceptsUndescribed?: true
  readonly mode: ToolMode | ((args: z.output<Schema>) => ToolMode)
  /** Whether the tool is available (a program is installed, a key is set). `false` hides it from the model. */
  check?(): boolean | Promise<boolean>
  /**
   * What the call works on, for the user: `ls -la`, `README.md`. Without it only the name is shown. Return the whole text: the
   * gateway takes secrets out of it before it makes one short line of it.
   */
  label?(args: z.output<Schema>): string
  /**
   * What came of the call, for the user, in a few words: `exit 1, 12 lines`. `result` is the parsed object that `run` returned, or
   * what a plugin made of it. It is not called for errors. Must be fast; when it throws or returns '', the gateway writes a line itself.
   */
  summarize?(result: JsonObject, args: z.output<Schema>): string
  /**
   * Whether a user must allow this call; undefined lets it run. Judged on the arguments with which the tool would run, and
   * again when a plugin changes them later. `run` must refuse a call that needs approval without `context.isApproved`.
   */
  approval?(args: z.output<Schema>, context: ToolContext): ApprovalNeed | Promise<ApprovalNeed | undefined> | undefined
  /**
   * Does the work and returns a JSON string. May throw: the model then receives `{"error": …}` (at most 2,048 characters).
   * Must return soon after `context.signal` aborts.
   */
  run(args: z.output<Schema>, context: ToolContext): Promise<string>
}

export interface ToolDefinition<Schema extends z.ZodType = z.ZodType> extends ToolFacts, ToolCode<Schema> {
  readonly isOptional?: boolean | undefined
}

/** Types a tool with its facts. */
export function defineTool<Schema extends z.ZodType>(definition: ToolDefinition<Schema>): ToolDefinition<Schema> {
  return definition
}

/** Types what a built-in tool does. */
export function defineToolCode<Schema extends z.ZodType>(code: ToolCode<Schema>): ToolCode<Schema> {
  return code
}
