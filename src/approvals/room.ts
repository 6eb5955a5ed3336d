/**
 * What the parts of the room share: its dependencies, and what must follow once a transaction is on disk.
 */
import type { Logger } from '../lib/log.ts'
import type { MessageEvent } from '../message/event.ts'
import type { EventListener, HookEvents } from '../message/hook-events.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource, Target } from '../message/source.ts'
import type { Outbox, PreparedReply, Reply } from '../outbox/outbox.ts'
import type { UseCase } from '../store/query.ts'
import type { Store } from '../store/store.ts'
import type { ApprovalAbout } from './question.ts'

export interface QuestionsDeps {
  readonly store: Store
  readonly outbox: Pick<Outbox, 'prepare'>
  readonly clock: () => number
  /** Resolves after `ms` or when the signal aborts, never rejects. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>
  readonly log: Logger
  /** Unique for ever, at most 40 letters, digits and `-`. */
  readonly newId: (now: number) => string
  /** False while the daemon starts or stops: a press is not taken then. */
  open(): boolean
  /** Whether this person may talk to the agent here. */
  access(source: SessionSource): { readonly allowed: boolean; readonly reason: string }
  /** Several people talk in the session of this source. */
  isShared(source: SessionSource): boolean
  /** Whether messages to this place can carry buttons, as far as is known right now. */
  showsButtons(target: Target): boolean
  /** What stands before a command that is typed on this platform. */
  commandPrefix(platform: string): string
  /** Stores an event of the gateway's own in the control lane of a session; a known `key` changes nothing. */
  handIn(event: MessageEvent, sessionKey: SessionKey, key: string, now: number): UseCase<void>
  /** The platform's id of the message under which the buttons of this reply stand; undefined until it is sent. */
  sentAs(replyKey: string): UseCase<string | undefined>
  /** There is work in the control lane of this session. Told after it is on disk. */
  wake(sessionKey: SessionKey): void
  readonly emit: EventListener
  /** Whether what happens there is a gateway event. */
  watched(source: SessionSource): boolean
  /** What plugins are told, once it is on disk; undefined where there are none. */
  readonly plugins?: ApprovalWatchers
  /** Whether a turn has not ended: what it asks for is void afterwards. */
  turnIsOpen(turnId: string): UseCase<boolean>
  /** Told of each question that has ended, once it is on disk. */
  readonly ended?: (id: string) => void
  /** Named points for crash tests; does nothing in production. */
  probe(point: string): void
}

/** They watch: nothing here can hold up or change an answer. */
export interface ApprovalWatchers {
  approvalAsked(asked: WatchedApproval): void
  approvalEnded(asked: WatchedApproval, choice: ApprovalChoice, decidedBy: string): void
}

export interface WatchedApproval {
  readonly sessionKey: SessionKey
  readonly source: SessionSource
  readonly about: ApprovalAbout
}

export type ApprovalChoice = 'once' | 'session' | 'always' | 'deny' | 'timeout' | 'cancelled'

type ApprovalEvent = {
  [Name in 'approval:requested' | 'approval:resolved']: [name: Name, context: HookEvents[Name]]
}['approval:requested' | 'approval:resolved']

/** What one transaction leaves to be done, or to be taken back. */
export interface Aftermath {
  /** Sends a reply with the transaction. */
  send(reply: Reply, now: number): UseCase<void>
  wake(sessionKey: SessionKey): void
  /** A question got its answer. */
  answered(): void
  /** A question ended, however it did. */
  readonly ended: (id: string) => void
  /** A gateway event of this source. */
  readonly tell: (source: SessionSource, ...event: ApprovalEvent) => void
  /** Something for plugins, once the transaction is on disk. */
  watch(told: (plugins: ApprovalWatchers) => void): void
  /** The transaction begins, maybe once more: what an earlier try left is void. */
  begin(): void
  committed(): void
  abandoned(): void
}

export function createAftermath(deps: QuestionsDeps): Aftermath {
  let replies: PreparedReply[] = []
  let lanes = new Set<SessionKey>()
  let answered = false
  let over: string[] = []
  let events: ApprovalEvent[] = []
  let watched: ((plugins: ApprovalWatchers) => void)[] = []

  function abandoned(): void {
    for (const reply of replies) reply.abandoned()
    replies = []
    lanes = new Set()
    answered = false
    over = []
    events = []
    watched = []
  }

  return {
    *send(reply, now) {
      const prepared = deps.outbox.prepare(reply)
      replies.push(prepared)
      yield* prepared.write(now)
    },
    wake: (sessionKey) => void lanes.add(sessionKey),
    answered() {
      answered = true
    },
    ended: (id) => void over.push(id),
    tell(source, ...event) {
      if (deps.watched(source)) events.push(event)
    },
    watch: (told) => void watched.push(told),
    begin: abandoned,
    committed() {
      if (answered) deps.probe('question:answered')
      for (const reply of replies) reply.committed()
      for (const [name, context] of events) deps.emit(name, context)
      for (const told of watched) if (deps.plugins !== undefined) told(deps.plugins)
      for (const id of over) deps.ended?.(id)
      for (const sessionKey of lanes) deps.wake(sessionKey)
    },
    abandoned,
  }
}
