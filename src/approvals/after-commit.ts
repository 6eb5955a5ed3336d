/**
 * The dependencies of the approvals, and the work that follows once a transaction is committed.
 */
import type { Logger } from '../lib/log.ts'
import type { Role } from '../message/authority.ts'
import type { MessageEvent } from '../message/event.ts'
import type { HookEventListener, HookEvents } from '../message/hook-events.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource, Target } from '../message/source.ts'
import type { Outbox, PreparedReply, Reply } from '../outbox/outbox.ts'
import type { Transaction } from '../store/query.ts'
import type { Store } from '../store/store.ts'
import type { ApprovalSubject } from './question.ts'

export interface QuestionsDeps {
  readonly store: Store
  readonly outbox: Pick<Outbox, 'prepare'>
  readonly clock: () => number
  /** Resolves after `ms` or when the signal aborts, never rejects. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly log: Logger
  /** Never returns the same id twice; at most 40 letters, digits and `-`. */
  readonly newId: (now: number) => string
  /** False while the daemon starts or stops: presses are rejected then. */
  isOpen(): boolean
  /** Whether the sender may talk to the agent in this chat. */
  access(source: SessionSource): { readonly allowed: boolean; readonly reason: string }
  /** The role of a person now. */
  roleOf(source: SessionSource): Role
  /** Several people write in the session of this source. */
  isShared(source: SessionSource): boolean
  /** Whether messages to this target can have buttons; false while the platform is not connected. */
  showsButtons(target: Target): boolean
  /** The prefix of typed commands on this platform. */
  commandPrefix(platform: string): string
  /** Stores an internal event in the control queue of a session; a known `key` changes nothing. */
  enqueueEvent(event: MessageEvent, sessionKey: SessionKey, key: string, now: number): Transaction<void>
  /** The platform's id of the message with the buttons of this reply; undefined until it is sent. */
  sentMessageId(replyKey: string): Transaction<string | undefined>
  /** Wakes the control queue of this session. Called after the commit. */
  wake(sessionKey: SessionKey): void
  readonly emit: HookEventListener
  /** Whether gateway events of this platform are emitted. */
  emitsEvents(source: SessionSource): boolean
  /** Notified after the commit; undefined without plugins. */
  readonly plugins?: ApprovalListener
  /** Whether a turn is open. Its questions are cancelled afterwards. */
  turnIsOpen(turnId: string): Transaction<boolean>
  /** Called for each resolved question, after the commit. */
  readonly onResolved?: (id: string) => void
  /** Named points for crash tests; does nothing in production. */
  failpoint(point: string): void
}

/** Observers: they cannot delay or change an answer. */
export interface ApprovalListener {
  approvalRequested(approval: ApprovalInfo): void
  approvalResolved(approval: ApprovalInfo, choice: ApprovalChoice, decidedBy: string): void
}

export interface ApprovalInfo {
  readonly sessionKey: SessionKey
  readonly source: SessionSource
  readonly about: ApprovalSubject
}

export type ApprovalChoice = 'once' | 'session' | 'always' | 'deny' | 'timeout' | 'cancelled'

type ApprovalEvent = {
  [Name in 'approval:requested' | 'approval:resolved']: [name: Name, context: HookEvents[Name]]
}['approval:requested' | 'approval:resolved']

/** The work to do after the commit of one transaction, or to undo after its rollback. */
export interface AfterCommit {
  /** Sends a reply with the transaction. */
  send(reply: Reply, now: number): Transaction<void>
  wake(sessionKey: SessionKey): void
  /** A question was answered. */
  answered(): void
  /** A question was resolved, with or without an answer. */
  readonly resolved: (id: string) => void
  /** Emits a gateway event of this source. */
  readonly emit: (source: SessionSource, ...event: ApprovalEvent) => void
  /** Notifies plugins. */
  notifyPlugins(notify: (plugins: ApprovalListener) => void): void
  /** The transaction starts, or starts again: discards the work of an earlier attempt. */
  begin(): void
  committed(): void
  abandoned(): void
}

export function createAfterCommit(deps: QuestionsDeps): AfterCommit {
  let replies: PreparedReply[] = []
  let sessionsToWake = new Set<SessionKey>()
  let answered = false
  let resolvedIds: string[] = []
  let events: ApprovalEvent[] = []
  let notifications: ((plugins: ApprovalListener) => void)[] = []

  function abandoned(): void {
    for (const reply of replies) reply.rolledBack()
    replies = []
    sessionsToWake = new Set()
    answered = false
    resolvedIds = []
    events = []
    notifications = []
  }

  return {
    *send(reply, now) {
      const prepared = deps.outbox.prepare(reply)
      replies.push(prepared)
      yield* prepared.write(now)
    },
    wake: (sessionKey) => void sessionsToWake.add(sessionKey),
    answered() {
      answered = true
    },
    resolved: (id) => void resolvedIds.push(id),
    emit(source, ...event) {
      if (deps.emitsEvents(source)) events.push(event)
    },
    notifyPlugins: (notify) => void notifications.push(notify),
    begin: abandoned,
    committed() {
      if (answered) deps.failpoint('question:answered')
      for (const reply of replies) reply.committed()
      for (const [name, context] of events) deps.emit(name, context)
      for (const notify of notifications) if (deps.plugins !== undefined) notify(deps.plugins)
      for (const id of resolvedIds) deps.onResolved?.(id)
      for (const sessionKey of sessionsToWake) deps.wake(sessionKey)
    },
    abandoned,
  }
}
