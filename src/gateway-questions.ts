/**
 * Joins the room that asks people with the rooms it needs.
 */
import { createQuestions, type Questions } from './approvals/questions.ts'
import type { ApprovalWatchers } from './approvals/room.ts'
import { createSlashConfirm, type SlashConfirm } from './approvals/slash-confirm.ts'
import type { ConfigOf } from './config/section.ts'
import type { Engine } from './engine/engine.ts'
import type { GatewayShapes } from './gateway-config.ts'
import type { People } from './gateway-people.ts'
import { acceptEvent } from './inbox/queries.ts'
import { packEvent } from './inbox/stored-event.ts'
import { uuid7 } from './lib/ids.ts'
import type { Logger } from './lib/log.ts'
import { pause } from './lib/wait.ts'
import type { EventListener } from './message/hook-events.ts'
import type { SessionSource, Target } from './message/source.ts'
import { buttonsSentAs } from './outbox/buttons-sent.ts'
import type { Outbox } from './outbox/outbox.ts'
import type { PlatformAdapter } from './platforms/adapter.ts'
import type { Store } from './store/store.ts'

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
  probe(point: string): void
}

export interface Asking {
  readonly questions: Questions
  readonly confirm: SlashConfirm
}

export function createAsking(deps: AskingDeps): Asking {
  const { store, outbox, engine, people, clock, log, settings, emit, open, probe } = deps
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
    probe,
  })
  return { questions, confirm: createSlashConfirm({ store, questions, settings }) }
}
