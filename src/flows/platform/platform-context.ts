/**
 * Builds the context of an adapter: the gateway's side of the platform contract.
 */

import type { CommandRegistry } from '../../commands/registry.ts'
import { listCursors } from '../../inbox/cursors.ts'
import type { EventResults, Inbox } from '../../inbox/inbox.ts'
import { messageOf } from '../../lib/errors.ts'
import type { SecretRegistry } from '../../lib/redact.ts'
import { onAbort, withTimeout } from '../../lib/timers.ts'
import type { ChatRef } from '../../message/chat-range.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { PlatformAccount } from '../../platforms/accounts.ts'
import type { AdapterLifecycle } from '../../platforms/connection.ts'
import type {
  PlatformContext,
  PlatformFiles,
  PlatformGateway,
  PlatformMenu,
  PlatformQuestions,
  PlatformRecords,
} from '../../platforms/context.ts'
import type { HttpRoute } from '../../platforms/http-route.ts'
import type { Runtime } from '../../store/runtime.ts'
import { chatHistory } from '../chat/chat-history.ts'
import type { SessionServices } from '../sessions/session-services.ts'

interface ContextGateway extends Pick<Runtime, 'home' | 'store' | 'clock' | 'log'> {
  readonly secrets: Pick<SecretRegistry, 'redact'>
  readonly settings: () => { readonly catch_up: { readonly max: number } }
}

/** The route of the messages of an adapter. */
interface ContextCore {
  readonly inbox: Inbox
  readonly turnResults: EventResults
  readonly outbox: Pick<Outbox, 'rateLimited' | 'withhold'>
  readonly sessionServices: Pick<SessionServices, 'stopEvent'>
  readonly commands: Pick<CommandRegistry, 'bypassesHooks'>
}

/** What all adapters share. */
export interface AdapterServices extends Pick<PlatformQuestions, 'press'> {
  /** Serves a route until the returned function is called. */
  route(route: HttpRoute): () => void
  readonly files: PlatformFiles
  readonly menu: PlatformMenu
  gatewayFor(platform: string): PlatformGateway
}

/** How long such a command keeps its place in the order of its chat. */
const overtakeAfterMs = 1_000

export function createPlatformContext(
  gateway: ContextGateway,
  core: ContextCore,
  services: AdapterServices,
  account: PlatformAccount,
  lifecycle: AdapterLifecycle,
): PlatformContext {
  const platform = account.platform.name
  const owner = { platform, account: account.account }
  const chatRef = (chatId: string): ChatRef => ({ ...owner, chatId })
  const { home, store, clock } = gateway
  const log = gateway.log.child(owner)

  const withhold = (text: string) => gateway.secrets.redact(core.outbox.withhold(text))

  /** Never rejects. */
  const acceptLate = async (...[event, keys, inOrder]: Parameters<PlatformContext['acceptIfDelayed']>) => {
    try {
      const { done } = await withTimeout(Promise.allSettled([inOrder]), overtakeAfterMs, lifecycle.signal)
      if (!done && !lifecycle.signal.aborted) await core.inbox.accept(event, keys)
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
    home: home.root,
    clock,
    log,
    accept: core.inbox.accept,
    acceptIfDelayed(event, keys, inOrder) {
      if (core.commands.bypassesHooks(event)) void acceptLate(event, keys, inOrder)
    },
    change: core.inbox.change,
    route(route) {
      onAbort(lifecycle.signal, services.route(route))
    },
    rateLimited: core.outbox.rateLimited,
    connection: { health: lifecycle.health, received: lifecycle.received, refused: lifecycle.refused },
    catchUp: { cursors: () => store.run(() => listCursors(owner)), limit: () => gateway.settings().catch_up.max },
    turns: {
      waitForResult: core.turnResults.wait,
      findResult: core.turnResults.find,
      stop: (seq) => core.sessionServices.stopEvent(seq),
    },
    chats: {
      history: (chatId, query) => store.run(() => chatHistory(chatRef(chatId), query, home.media)),
      toolCalls: {
        async list(chatId, turnIds) {
          const { listToolCalls } = await import('../chat/tool-results.ts')
          return await listToolCalls(store, chatRef(chatId), turnIds)
        },
        async view(chatId, call, { whole }) {
          const { viewToolCall } = await import('../chat/tool-results.ts')
          return await viewToolCall(gateway, withhold, chatRef(chatId), call, whole)
        },
      },
    },
    questions: lazyQuestions(gateway, services.press, owner),
    menu: services.menu,
    files: services.files,
    records: lazyRecords(gateway, owner),
    gateway: services.gatewayFor(platform),
  }
}

function lazyQuestions(
  { store, clock }: Pick<Runtime, 'store' | 'clock'>,
  press: PlatformQuestions['press'],
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
  { store, clock }: Pick<Runtime, 'store' | 'clock'>,
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
