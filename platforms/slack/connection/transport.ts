/**
 * Creates the network functions of an account with Slack's SDK and `fetch`. Only this file opens network connections.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { LogLevel, SocketModeReceiver, webApi } from '@slack/bolt'
import type { Logger } from '#sdk'
import type { SlackOptions } from '../options.ts'
import type { RawApiCall } from './api.ts'
import type { OpenSocket } from './socket.ts'
import { openSocketMode } from './socket-mode.ts'

/** Uploads a file to the URL from Slack. `refused`: the URL may not be used. Rejects as `fetch` does. */
export type UploadFile = (
  url: string,
  bytes: Blob,
  signal: AbortSignal,
) => Promise<{ readonly ok: boolean; readonly status: number } | 'refused'>

export interface SlackTransport {
  /** A call with the bot token. */
  readonly call: RawApiCall
  readonly openSocket: OpenSocket
  readonly upload: UploadFile
}

/** The time limit of a pong. The SDK sends a ping every third of it. */
const pingTimeoutMs = 4_000

export function createTransport(options: SlackOptions, log: Logger): SlackTransport {
  const { apiUrl, trustedOrigin, fileHosts, transport } = options
  const logger = createSdkLogger((line) => log.debug({ event: 'slack.sdk_message', line }, 'message of the Slack SDK'))
  return {
    call: createApiCall(options.botToken, apiUrl, logger),
    async openSocket(events, signal) {
      if (transport.mode !== 'socket') throw new Error('mode: http opens no socket')
      const receiver = new SocketModeReceiver({
        appToken: transport.appToken,
        logger,
        autoReconnectEnabled: false,
        clientPingTimeout: pingTimeoutMs,
        installerOptions: {
          clientOptions: { ...clientOptions(apiUrl), fetch: (url, init) => fetch(url, { ...init, signal }) },
        },
      })
      return await openSocketMode(receiver, events, signal)
    },
    async upload(url, bytes, signal) {
      const address = URL.parse(url)
      const isAllowed =
        address?.protocol === 'https:' || (address !== null && [trustedOrigin, ...fileHosts].includes(address.origin))
      if (!isAllowed) return 'refused'
      const response = await fetch(url, { method: 'POST', body: bytes, redirect: 'error', signal })
      await response.body?.cancel()
      return { ok: response.ok, status: response.status }
    },
  }
}

/** A call function for one token, without logging. For the checks of `hermes doctor`. */
export function createSilentApiCall(token: string, apiUrl: string): RawApiCall {
  return createApiCall(
    token,
    apiUrl,
    createSdkLogger(() => undefined),
  )
}

/** The SDK's client accepts no signal for a single call. An async context passes the signal to `fetch`. */
function createApiCall(token: string, apiUrl: string, logger: SdkLogger): RawApiCall {
  const signals = new AsyncLocalStorage<AbortSignal>()
  const client = new webApi.WebClient(token, {
    ...clientOptions(apiUrl),
    logger,
    // A call from the SDK's queue would run in the async context of another call.
    maxRequestConcurrency: Number.POSITIVE_INFINITY,
    fetch: (url, init) => fetch(url, { ...init, signal: signals.getStore() ?? null }),
  })
  return (method, args, signal) => signals.run(signal, () => client.apiCall(method, { ...args }))
}

/** Retries of the SDK are disabled, because it would post a message twice after a lost response. The outbox retries. */
function clientOptions(apiUrl: string) {
  return { slackApiUrl: apiUrl, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true }
}

type SdkLogger = NonNullable<webApi.WebClientOptions['logger']>

/** Drops the debug lines of the SDK, because they contain whole messages. */
function createSdkLogger(write: (line: string) => void): SdkLogger {
  const writeParts = (...parts: unknown[]) => write(parts.map(String).join(' ').slice(0, 500))
  const ignore = () => undefined
  return {
    debug: ignore,
    info: ignore,
    warn: writeParts,
    error: writeParts,
    setLevel: ignore,
    getLevel: () => LogLevel.WARN,
    setName: ignore,
  }
}
