/**
 * How updates reach a bot: by long polls that confirm with their offset, or by a webhook that is called until it answers
 * with 2xx. An update is gone when it was confirmed, not before.
 */
import type { ServerResponse } from 'node:http'
import { ApiError, badRequest, type JsonRecord, nestedOf, numberOf, refuse, succeed, textOf } from './params.ts'

export interface Update extends JsonRecord {
  readonly update_id: number
}

export interface Delivery {
  /** Queues an update of this kind, unless the bot does not want it. Resolves when the bot has confirmed it. */
  push(update: Update): Promise<void>
  /** The confirmation got lost: the update comes once more. Resolves when the bot has confirmed it again. */
  repeat(update: Update): Promise<void>
  /** Answers the poll now, later or never. */
  poll(params: JsonRecord, response: ServerResponse): void
  setWebhook(params: JsonRecord): void
  deleteWebhook(): void
  webhookInfo(): JsonRecord
  /** Updates that no bot has confirmed. */
  pending(): readonly Update[]
  stop(): void
}

interface Webhook {
  readonly url: string
  readonly secret: string
  lastError?: { readonly message: string; readonly at: number }
}

/** What a bot gets that has not said what it wants. */
const defaultExcludedUpdates: ReadonlySet<string> = new Set([
  'chat_member',
  'message_reaction',
  'message_reaction_count',
])

/** `retryMs`: how long Telegram waits before it calls a webhook again. */
export function createDelivery({ retryMs = 20 } = {}): Delivery {
  let updates: Update[] = []
  let allowed: ReadonlySet<string> | undefined
  let waiting: { readonly response: ServerResponse; readonly limit: number; readonly timer: NodeJS.Timeout } | undefined
  let webhook: Webhook | undefined
  let calling = false
  const stopped = new AbortController()
  const confirmations = new Map<Update, () => void>()
  /** To be given once more, whatever the offset says. */
  const repeated = new Set<Update>()

  return {
    push(update) {
      const [kind = ''] = Object.keys(update).filter((key) => key !== 'update_id')
      const wanted = allowed === undefined || allowed.size === 0 ? !defaultExcludedUpdates.has(kind) : allowed.has(kind)
      return wanted ? queue(update) : Promise.resolve()
    },
    repeat(update) {
      repeated.add(update)
      return queue(update)
    },
    poll(params, response) {
      if (webhook !== undefined) {
        const what =
          "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
        return refuse(response, new ApiError(409, `Conflict: ${what}`))
      }
      drop(
        new ApiError(
          409,
          'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running',
        ),
      )
      const wanted = nestedOf(params['allowed_updates'])
      if (Array.isArray(wanted)) allowed = new Set(wanted.map(String))
      const offset = numberOf(params['offset']) ?? 0
      if (offset > 0) confirm(updates.filter((update) => update.update_id < offset && !repeated.has(update)))
      if (offset < 0) confirm(updates.slice(0, offset))
      const limit = Math.min(100, Math.max(1, numberOf(params['limit']) ?? 100))
      const seconds = Math.min(50, numberOf(params['timeout']) ?? 0)
      const timer = setTimeout(give, seconds * 1_000, true)
      waiting = { response, limit, timer }
      response.once('close', () => {
        if (waiting?.response !== response) return
        clearTimeout(timer)
        waiting = undefined
      })
      give(seconds === 0)
    },
    setWebhook(params) {
      const url = textOf(params['url'])
      const secret = textOf(params['secret_token'])
      if (secret !== '' && !/^[\w-]{1,256}$/.test(secret))
        throw badRequest('secret token contains unallowed characters')
      const wanted = nestedOf(params['allowed_updates'])
      if (Array.isArray(wanted)) allowed = new Set(wanted.map(String))
      webhook = url === '' ? undefined : { url, secret }
      drop(new ApiError(409, 'Conflict: terminated by setWebhook request'))
      if (webhook !== undefined) void callAll()
    },
    deleteWebhook() {
      webhook = undefined
    },
    webhookInfo: () => ({
      url: webhook?.url ?? '',
      has_custom_certificate: false,
      pending_update_count: updates.length,
      ...(webhook?.lastError === undefined
        ? {}
        : { last_error_date: webhook.lastError.at, last_error_message: webhook.lastError.message }),
    }),
    pending: () => updates,
    stop() {
      stopped.abort()
      if (waiting !== undefined) clearTimeout(waiting.timer)
      waiting = undefined
    },
  }

  function queue(update: Update): Promise<void> {
    const confirmed = Promise.withResolvers<void>()
    confirmations.set(update, confirmed.resolve)
    updates.push(update)
    updates.sort((one, other) => one.update_id - other.update_id)
    if (webhook !== undefined) void callAll()
    else give()
    return confirmed.promise
  }

  function confirm(gone: readonly Update[]): void {
    updates = updates.filter((update) => !gone.includes(update))
    for (const update of gone) {
      confirmations.get(update)?.()
      confirmations.delete(update)
    }
  }

  /** Answers the poll that waits, when there is something to answer or its time is over. */
  function give(over = false): void {
    if (waiting === undefined || (!over && updates.length === 0)) return
    const { response, limit, timer } = waiting
    waiting = undefined
    clearTimeout(timer)
    const given = updates.slice(0, limit)
    for (const update of given) repeated.delete(update)
    succeed(response, given)
  }

  function drop(error: ApiError): void {
    if (waiting === undefined) return
    const { response, timer } = waiting
    waiting = undefined
    clearTimeout(timer)
    refuse(response, error)
  }

  /** In order; one that is not taken is sent again until it is. */
  async function callAll(): Promise<void> {
    if (calling) return
    calling = true
    try {
      for (let update = updates[0]; update !== undefined && webhook !== undefined; update = updates[0]) {
        if (stopped.signal.aborted) return
        if (await call(webhook, update)) confirm([update])
        else await new Promise((resolve) => setTimeout(resolve, retryMs))
      }
    } finally {
      calling = false
    }
  }

  async function call(to: Webhook, update: Update): Promise<boolean> {
    try {
      const response = await fetch(to.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': to.secret },
        body: JSON.stringify(update),
        signal: stopped.signal,
      })
      await response.body?.cancel()
      if (response.ok) return true
      to.lastError = {
        message: `Wrong response from the webhook: ${response.status} ${response.statusText}`,
        at: now(),
      }
    } catch {
      to.lastError = { message: 'Connection refused', at: now() }
    }
    return false
  }
}

function now(): number {
  return Math.floor(Date.now() / 1_000)
}
