/**
 * Builds the context of an adapter: the gateway's side of the platform contract.
 */

import { join } from 'node:path'
import { listCursors } from '../../inbox/cursors.ts'
import type { EventResults } from '../../inbox/event-results.ts'
import type { Inbox } from '../../inbox/inbox.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { onAbort, withTimeout } from '../../lib/timers.ts'
import type { ChatRef } from '../../message/chat-range.ts'
import type { MessageEvent } from '../../message/event.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { PlatformAccount } from '../../platforms/accounts.ts'
import type {
  HttpRoute,
  PlatformCatchUp,
  PlatformContext,
  PlatformFiles,
  PlatformGateway,
  PlatformMenu,
  PlatformQuestions,
  PlatformRecords,
} from '../../platforms/adapter.ts'
import type { AdapterLifecycle } from '../../platforms/connection.ts'
import type { Store } from '../../store/store.ts'
import { chatHistory } from '../chat/chat-history.ts'
import type { SessionServices } from '../sessions/session-services.ts'

export interface PlatformContextDeps {
  readonly home: string
  readonly store: Store
  readonly inbox: Inbox
  readonly turnResults: EventResults
  readonly outbox: Pick<Outbox, 'rateLimited' | 'withhold'>
  readonly sessions: Pick<SessionServices, 'stopEvent'>
  readonly log: Logger
  readonly clock: () => number
  /** Serves a route until the returned function is called. */
  route(route: HttpRoute): () => void
  /** Takes secrets out of a text, besides those that the outbox knows. */
  redact(text: string): string
  press: PlatformQuestions['press']
  readonly files: PlatformFiles
  readonly menu: PlatformMenu
  catchUpLimit: PlatformCatchUp['limit']
  /** Whether the event is a command that neither hooks nor earlier messages may delay. */
  bypassesHooks(event: MessageEvent): boolean
  gatewayFor(platform: string): PlatformGateway
}

/** How long such a command keeps its place in the order of its chat. */
const overtakeAfterMs = 1_000

export function createPlatformContext(
  deps: PlatformContextDeps,
  account: PlatformAccount,
  lifecycle: AdapterLifecycle,
): PlatformContext {
  const platform = account.platform.name
  const owner = { platform, account: account.account }
  const chatRef = (chatId: string): ChatRef => ({ ...owner, chatId })
  const log = deps.log.child(owner)

  const resultFolder = join(deps.home, 'cache', 'results')
  const toolResults = {
    store: deps.store,
    resultFolder,
    withhold: (text: string) => deps.redact(deps.outbox.withhold(text)),
  }

  /** Never rejects. */
  const acceptLate = async (...[event, keys, inOrder]: Parameters<PlatformContext['acceptIfDelayed']>) => {
    try {
      const { done } = await withTimeout(Promise.allSettled([inOrder]), overtakeAfterMs, lifecycle.signal)
      if (!done && !lifecycle.signal.aborted) await deps.inbox.accept(event, keys)
    } catch (error) {
      log.warn(
        { event: 'platform.command_delayed', err: error },
        `a command waits for earlier messages, because it could not be stored: ${messageOf(error)}`,
      )
    }
  }

  return {
    platform,
    account: account.account,
    options: account.options,
    home: deps.home,
    clock: deps.clock,
    log,
    accept: deps.inbox.accept,
    acceptIfDelayed(event, keys, inOrder) {
      if (deps.bypassesHooks(event)) void acceptLate(event, keys, inOrder)
    },
    change: deps.inbox.change,
    route(route) {
      onAbort(lifecycle.signal, deps.route(route))
    },
    rateLimited: deps.outbox.rateLimited,
    connection: { health: lifecycle.health, received: lifecycle.received, refused: lifecycle.refused },
    catchUp: { cursors: () => deps.store.run(() => listCursors(owner)), limit: deps.catchUpLimit },
    turns: {
      waitForResult: deps.turnResults.wait,
      findResult: deps.turnResults.find,
      stop: (seq) => deps.sessions.stopEvent(seq),
    },
    chats: {
      history: (chatId, query) => deps.store.run(() => chatHistory(chatRef(chatId), query, join(deps.home, 'media'))),
      toolCalls: {
        async list(chatId, turnIds) {
          const { listToolCalls } = await import('../chat/tool-results.ts')
          return await listToolCalls(toolResults, chatRef(chatId), turnIds)
        },
        async view(chatId, call, { whole }) {
          const { viewToolCall } = await import('../chat/tool-results.ts')
          return await viewToolCall(toolResults, chatRef(chatId), call, whole)
        },
      },
    },
    questions: lazyQuestions(deps, owner),
    menu: deps.menu,
    files: deps.files,
    records: lazyRecords(deps, owner),
    gateway: deps.gatewayFor(platform),
  }
}

function lazyQuestions(
  { store, clock, press }: Pick<PlatformContextDeps, 'store' | 'clock' | 'press'>,
  owner: { readonly platform: string; readonly account: string },
): PlatformQuestions {
  const load = async () =>
    (await import('../approvals/chat-questions.ts')).createChatQuestions({ store, clock, press, owner })
  return {
    press,
    list: async (chatId) => (await load()).list(chatId),
    answer: async (answer) => (await load()).answer(answer),
  }
}

/** Few adapters keep records: the queries are loaded with the first one. */
function lazyRecords(
  { store, clock }: Pick<PlatformContextDeps, 'store' | 'clock'>,
  owner: { readonly platform: string; readonly account: string },
): PlatformRecords {
  const load = async () => (await import('./platform-records.ts')).createPlatformRecords({ store, clock, owner })
  return {
    get: async (key) => (await load()).get(key),
    put: async (key, value) => (await load()).put(key, value),
    insert: async (key, value) => (await load()).insert(key, value),
    remove: async (key) => (await load()).remove(key),
    list: async (options) => (await load()).list(options),
  }
}
