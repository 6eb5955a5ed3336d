/**
 * Joins the room that asks people with the rooms it needs.
 */
import type { ApproveTool } from '../agent/tool-approval.ts'
import { createEnds } from '../approvals/ends.ts'
import { createQuestions, type Questions } from '../approvals/questions.ts'
import type { ApprovalWatchers } from '../approvals/room.ts'
import { createSlashConfirm, type SlashConfirm } from '../approvals/slash-confirm.ts'
import { createToolApproval } from '../approvals/tool-approval.ts'
import type { ConfigOf } from '../config/section.ts'
import type { Engine } from '../engine/engine.ts'
import { acceptEvent } from '../inbox/queries.ts'
import { packEvent, storedEvent } from '../inbox/stored-event.ts'
import { brand } from '../lib/brand.ts'
import { uuid7 } from '../lib/ids.ts'
import type { Logger } from '../lib/log.ts'
import { pause } from '../lib/wait.ts'
import type { MessageEvent } from '../message/event.ts'
import type { EventListener } from '../message/hook-events.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource, Target } from '../message/source.ts'
import { buttonsSentAs } from '../outbox/buttons-sent.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { PlatformAdapter } from '../platforms/adapter.ts'
import { keyOfOpenTurn, openTurn } from '../sessions/turns.ts'
import type { UseCase } from '../store/query.ts'
import type { Store } from '../store/store.ts'
import type { GatewayShapes } from './config.ts'
import type { People } from './people.ts'

export interface AskingDeps {
  readonly store: Store
  readonly outbox: Outbox
  readonly engine: Engine
  readonly people: People
  readonly clock: () => number
  readonly log: Logger
  readonly settings: () => ConfigOf<GatewayShapes>
  adapter(target: Target): PlatformAdapter | undefined
  readonly emit: EventListener
  open(): boolean
  readonly plugins: ApprovalWatchers
  /** Takes secrets out of what people are shown. */
  redact(text: string): string
  /** Aborts when the gateway stops. */
  readonly stopping: AbortSignal
  /** Cuts the turn of a session off; the next start takes it up again. */
  letGo(sessionKey: SessionKey): void
  probe(point: string): void
}

export interface Asking {
  readonly questions: Questions
  readonly confirm: SlashConfirm
  readonly approve: ApproveTool
}

export function createAsking(deps: AskingDeps): Asking {
  const { store, outbox, engine, people, clock, log, settings, emit, open, probe } = deps
  const ends = createEnds()
  const questions = createQuestions({
    store,
    outbox,
    clock,
    pause,
    log,
    newId: uuid7,
    open,
    emit,
    watched: people.watched,
    access: (source: SessionSource) => people.access({ source }),
    isShared: people.isShared,
    plugins: deps.plugins,
    showsButtons: (target) => deps.adapter(target)?.showsButtons === true,
    commandPrefix: (platform) => people.platform(platform)?.commandPrefix ?? '/',
    *handIn(event, sessionKey, key, now) {
      const { platform, account, chatId } = event.source
      const payload = packEvent(event, Number.POSITIVE_INFINITY)
      const row = { sessionKey, lane: 'control' as const, kind: 'internal', platform, account, chatId, payload }
      yield* acceptEvent(row, [key], now)
    },
    sentAs: buttonsSentAs,
    wake: (sessionKey) => engine.wake(sessionKey, 'control'),
    *turnIsOpen(turnId) {
      return (yield* keyOfOpenTurn(turnId)) !== undefined
    },
    ended: ends.ended,
    probe,
  })
  const { redact, stopping, letGo } = deps
  return {
    questions,
    confirm: createSlashConfirm({ store, questions, settings }),
    approve: createToolApproval({
      store,
      questions,
      ends,
      clock,
      settings,
      redact,
      turnEvent,
      stopping,
      letGo,
      probe,
    }),
  }
}

function* turnEvent(turnId: string): UseCase<{ event: MessageEvent; sessionKey: SessionKey } | undefined> {
  const key = yield* keyOfOpenTurn(turnId)
  const open = key === undefined ? undefined : yield* openTurn(key)
  if (key === undefined || open?.id !== turnId) return undefined
  return { event: storedEvent(open.payload), sessionKey: brand<SessionKey>(key) }
}
