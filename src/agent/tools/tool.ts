/**
 * The contract of a tool: a function the model may call.
 */
import type { z } from 'zod'
import type { JsonObject } from '../../lib/json.ts'
import type { Logger } from '../../lib/log.ts'
import type { Authority } from '../../message/authority.ts'
import type { ImagePart, ToolMode } from '../../message/transcript.ts'
import type { TransactionPart } from '../../store/transaction-part.ts'
import type { BrowserAccess } from '../browser/contract.ts'
import type { Environment, ProcessEntry, ProcessTable, ShellState } from '../environments/environment.ts'
import type { MemoryAccess } from '../memory/contract.ts'
import type { SubagentResult, SubagentRole } from '../support/subagent-result.ts'
import type { TodoStore } from '../support/todo-list.ts'

export interface ToolContext {
  readonly sessionId: string
  readonly turnId: string
  readonly callId: string
  readonly signal: AbortSignal
  readonly log: Logger
  /** Whose turn it is. A sub-agent has the authority of its parent. */
  readonly authority: Authority
  /** Paths of the downloaded files of this conversation. The sandbox hides the files of other conversations. */
  attachments(): Promise<readonly string[]>
  /** The pictures of this conversation that models can be shown. Absent: there are none. */
  pictures?(): Promise<readonly ConversationPicture[]>
  /** Runs commands; its directory is the base of relative paths. */
  readonly environment: Environment
  readonly processes: ProcessTable
  /** Stores a long result as a file, and returns what the model gets of it. Absent where nothing is stored. */
  storeResult?(result: string): Promise<string>
  /** What the last command has left to this one. Absent: nothing. */
  readonly shell?: ShellState
  /** Stores where the next command begins, for a restart of the gateway; null: where the environment begins. */
  storeDirectory?(directory: string | null): TransactionPart
  /** Called before files are changed. Absent where no checkpoints are taken. Rejects only with the reason of the signal. */
  beforeChange?(change: UpcomingChange): Promise<void>
  /** Reports news of background commands to the conversation. Absent where no message can come later. */
  readonly commandWatches?: CommandWatches
  /** The agent's list of steps. The `todo` tool replaces or changes it. */
  readonly todos: TodoStore
  readonly limits: ToolLimits
  /** The folder of a conversation whose user sees changes of files before they are made. Absent: no one is asked. */
  readonly asksBeforeEdits?: string
  /** A user, or the configuration, allowed this call with these arguments here. Only set for tools with `approval`. */
  readonly isApproved?: boolean
  /** Asks the user of the turn; absent where there is none. */
  readonly askUser?: AskUser
  /** Runs sub-agents; absent where they are not available. */
  readonly delegate?: Delegate
  /** Starts sub-agents that go on after the turn; absent where `delegate` is. */
  readonly delegateInBackground?: DelegateInBackground
  /** Messages to other chats; absent where none can be sent. */
  readonly chatMessages?: ChatMessages
  /** Sends a file that the tool has made to the person who waits for the turn; absent without one. */
  readonly showFile?: (file: { readonly path: string; readonly isVoice: boolean }) => Promise<TransactionPart>
  /** Reads earlier conversations; absent where there are none. */
  readonly recall?: SessionRecall
  /** The memory for all later conversations; absent outside of sessions. */
  readonly memory?: () => Promise<MemoryAccess>
  /**
   * Runs another tool as the model would call it: plugins, policy, approvals and the ceiling of the role apply. Resolves with its
   * result, which describes a failure. Absent outside of turns.
   */
  readonly callTool?: (name: string, args: JsonObject, signal: AbortSignal) => Promise<string>
  /** The web; absent where there is none. */
  readonly web?: () => Promise<WebAccess>
  /** Makes and changes scheduled jobs; absent where there are none. Rejects `store/...`, and with the reason of the signal. */
  readonly scheduleJob?: ScheduleJob
  /** The browser; absent where there is none. */
  readonly browser?: () => Promise<BrowserAccess>
  /** Shows the model a stored picture with the result of this call. Absent: the model does not see. */
  showPicture?(image: ImagePart): void
  /** Whether the person may read files of the machine here, and not those of the conversation alone. Only with `vision`. */
  mayReadFiles?(): Promise<boolean>
  /** A model that sees; absent where there is none. */
  readonly vision?: () => Promise<VisionAccess>
  /**
   * Stores something in the transaction that stores the result of this call, so that both are stored or neither. The last
   * write of a call counts, and none of a call that fails.
   */
  writeWithResult?(write: TransactionPart): void
}

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

/** Messages about background commands. */
export interface CommandWatches {
  /** The write belongs to the result of the call that has started the command. A refusal is for the model. */
  start(
    entry: ProcessEntry,
    wanted: WatchedNews,
  ): Awaitable<{ readonly write: TransactionPart } | { readonly refusal: string }>
  /**
   * The caller is about to tell the agent about this command. `told` is the write of a result that contains its end;
   * `release` when the result does not. Undefined for a command that is not watched.
   */
  claim(entry: ProcessEntry): Promise<{ told(): TransactionPart; release(): void } | undefined>
}

type Awaitable<Value> = Value | Promise<Value>

export interface WatchedNews {
  readonly onComplete: boolean
  /** Texts in a line of the output. */
  readonly patterns: readonly string[]
}

/** Searches the web and reads its pages. Both reject with an `Error` whose message is for the model, or the signal's reason. */
export interface WebAccess {
  search(
    query: string,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly { readonly title: string; readonly url: string; readonly description: string }[]>
  /** One result for each address. */
  read(urls: readonly string[], signal: AbortSignal): Promise<readonly WebPage[]>
}

/** Looks at pictures. Rejects with the signal's reason, or as a managed call when a plugin or a guardrail rejects it. */
export interface VisionAccess {
  /** `canShow`: the asking model sees, so that it may get the picture instead of an answer. */
  analyze(
    request: PictureRequest,
    canShow: boolean,
    signal: AbortSignal,
  ): Promise<PictureAnswer | PictureProblem | { readonly image: ImagePart }>
}

export interface PictureQuestion {
  readonly question: string
  /** The part of the picture that matters, in words; '' for all of it. */
  readonly region: string
}

/** A path is real, and this conversation may read it. */
export type PictureRequest = PictureQuestion & ({ readonly path: string } | { readonly url: string })

export interface PictureAnswer {
  readonly text: string
  /** The model that answered. */
  readonly model: string
}

/** For the model. */
export interface PictureProblem {
  readonly code: string
  readonly reason: string
}

export interface WebPage {
  readonly url: string
  /** '' for none. */
  readonly title: string
  /** Markdown; '' if the page could not be read. */
  readonly content: string
  /** Why there is no content. */
  readonly error?: string
  /** What the content is, if it is not the whole page. */
  readonly note?: string
}

export interface ConversationPicture {
  readonly path: string
  readonly image: ImagePart
}

/** Resolves with the jobs as `cron/jobs.json` shows them, shortened, or with why nothing was done: a sentence for the model. */
export type ScheduleJob = (
  action: JsonObject,
  signal: AbortSignal,
) => Promise<{ readonly jobs: readonly JsonObject[] } | { readonly problem: string }>

/** Sends messages to other chats for the person who caused the turn. */
export interface ChatMessages {
  /**
   * Prepares a message; `write` stores it, and is absent for a target that is a file. `problem` says why it cannot be sent.
   * Rejects `store/…`, or with the signal's reason.
   */
  prepare(
    message: { readonly target: string; readonly text: string; readonly media: readonly string[] },
    signal: AbortSignal,
  ): Promise<
    | {
        readonly write?: TransactionPart
        readonly target: string
        readonly name?: string
        readonly path?: string
        readonly note?: string
      }
    | { readonly problem: string }
  >
  /** The targets to which messages may be sent. */
  list(signal: AbortSignal): Promise<readonly MessageTarget[]>
}

/**
 * Reads the earlier conversations that the person who caused the turn may see. Rejects with an `Error` that says what failed,
 * and with the reason of the signal.
 */
export type SessionRecall = (request: RecallRequest, signal: AbortSignal) => Promise<RecallResult>

export type RecallRequest =
  /** The sessions with messages that match, one for each conversation. `roles` with commas. */
  | {
      readonly kind: 'discover'
      readonly query: string
      readonly roles: string
      readonly sort: 'relevance' | 'newest' | 'oldest'
      readonly limit: number
    }
  /** The latest sessions. */
  | { readonly kind: 'browse'; readonly limit: number }
  /** The messages around one, `window` on each side; null: the beginning and the end of the session. */
  | { readonly kind: 'read'; readonly session: string; readonly around: number | null; readonly window: number }

export type RecallResult =
  | {
      readonly kind: 'discover'
      readonly results: readonly RecallHit[]
      /** Not all messages were searched, because that takes too long. */
      readonly isPartial: boolean
    }
  | { readonly kind: 'browse'; readonly sessions: readonly RecalledSession[] }
  | {
      readonly kind: 'read'
      readonly session: RecalledSession
      readonly view: RecalledWindow
      readonly end: readonly RecalledMessage[]
    }
  /** There is no such session or message that the person may see. */
  | { readonly kind: 'absent' }

export interface RecalledSession {
  readonly session: string
  /** '' for none. */
  readonly title: string
  readonly source: string
  /** ms since 1970, as all times here. */
  readonly startedAt: number
  readonly lastActive: number
  readonly messages: number
  /** The beginning of the first message. */
  readonly preview: string
}

export interface RecalledMessage {
  readonly id: number
  readonly role: string
  /** The beginning of a long text. */
  readonly content: string
  /** The length of the whole text, in characters. */
  readonly length: number
  readonly at: number
  readonly toolName?: string | undefined
  /** JSON of the calls. */
  readonly toolCalls?: string | undefined
}

/** Messages around an anchor; `before` and `after` count them without it. */
export interface RecalledWindow {
  readonly rows: readonly RecalledMessage[]
  readonly before: number
  readonly after: number
}

/** The best match of a conversation, with the messages around it and at the ends of its session. */
export interface RecallHit extends RecalledSession {
  /** The session with which the conversation began that goes on in this one. */
  readonly root: string
  readonly role: string
  /** The id of the message. */
  readonly hit: number
  /** The matching part, with the words between « and »; '' for a text that the index cannot find. */
  readonly snippet: string
  readonly view: RecalledWindow
  readonly start: readonly RecalledMessage[]
  readonly end: readonly RecalledMessage[]
}

export interface MessageTarget {
  /** `<platform>:<chat_id>[:<thread_id>]` */
  readonly target: string
  readonly kind: 'origin' | 'home' | 'known' | 'channel'
  readonly name?: string
}

/** Waits until the user has answered or the question has expired. Rejects with the signal's reason when it aborts. */
export type AskUser = (question: UserQuestion, signal: AbortSignal) => Promise<UserResponse>

export interface UserQuestion {
  readonly question: string
  /** Empty: any answer. The user may give another answer than these. */
  readonly choices: readonly string[]
  /** Several choices may be chosen. */
  readonly multiSelect: boolean
}

/** `response` is a choice, or the text of the user; with `multiSelect` a list of choices, or a text. */
export type UserResponse =
  | { readonly kind: 'answered'; readonly response: string | readonly string[] }
  | { readonly kind: 'unanswered' }
  /** No user follows the turn. */
  | { readonly kind: 'unattended' }

/**
 * Runs all tasks in parallel and returns their results in the order of the tasks. When the signal aborts, it aborts all
 * sub-agents and rejects with the signal's reason. Rejects with `DelegationRefused` before any of them has started.
 */
export type Delegate = (tasks: readonly SubagentTask[], signal: AbortSignal) => Promise<readonly SubagentResult[]>

/** Resolves with one sub-agent for each task once all are stored. Rejects with `DelegationRefused`, or as the inbox. */
export type DelegateInBackground = (tasks: readonly SubagentTask[]) => Promise<readonly StartedSubagent[]>

export interface SubagentTask {
  readonly goal: string
  /** '' for none. */
  readonly context: string
  /** Absent: `delegation.default_toolsets`. */
  readonly toolsets?: readonly string[]
  /** Absent: `leaf`. */
  readonly role?: SubagentRole
  /** Absent: `delegation.model`, or the model of the turn. */
  readonly model?: string
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
export class DelegationRefused extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = 'DelegationRefused'
    this.code = code
  }
}

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
  readonly shape?: string
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
 * What is known of a tool without its code. Those of the built-in tools stand in `built-in-tools.ts`; the tool of a plugin that
 * replaces a built-in one has the same unless it says otherwise.
 */
export interface ToolFacts {
  readonly name: string
  /** The toolset by which configuration disables it: `terminal`, `file`, `todo` … */
  readonly toolset: string
  /**
   * Whether calls may run at the same time as others of this kind; absent: each runs alone. Not for a tool with `approval`: two
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
   * what a plugin made of it. Not called for errors. Must be fast; when it throws or returns '', the gateway writes a line itself.
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
