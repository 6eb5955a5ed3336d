/**
 * The Slack platform: the only file here that opens the network, with Slack's own SDK and `fetch`.
 *
 *     Slack → socket.ts or http-events.ts → receive.ts (normalize.ts) → the gateway
 *     the gateway → sender.ts (render.ts, stream.ts, edits.ts, files.ts) → web.ts → Slack
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { LogLevel, SocketModeReceiver, webApi } from '@slack/bolt'
import { type DiagnosticContext, definePlatform, type Logger, type PlatformAdapter, type PlatformContext } from '#sdk'
import { createAccount, type SlackTransport } from './connection/account.ts'
import { createApi, type RawApiCall } from './connection/api.ts'
import { openSocketMode } from './connection/socket-mode.ts'
import { diagnose } from './diagnose.ts'
import { parseOptions, type SlackOptions } from './options.ts'

/** A pong must have come within it; a ping goes out every third of it. */
const pingTimeoutMs = 4_000

export function createAdapter(context: PlatformContext): PlatformAdapter {
  const options = parseOptions(context.options, context.account)
  return createAccount(context, options, createTransport(options, context.log))
}

function createTransport(options: SlackOptions, log: Logger): SlackTransport {
  const { apiUrl, trustedOrigin, transport } = options
  const logger = createSdkLogger((line) => log.debug({ sdk: line }, 'said by the SDK of Slack'))
  return {
    call: createApiCall(options.botToken, apiUrl, logger),
    async openSocket(events, signal) {
      if (transport.mode !== 'socket') throw new Error('there is no socket in http mode')
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
      const { protocol, origin } = new URL(url)
      if (protocol !== 'https:' && origin !== trustedOrigin) throw new Error('Slack named an address that is not https')
      const response = await fetch(url, { method: 'POST', body: bytes, redirect: 'error', signal })
      await response.body?.cancel()
      return { ok: response.ok, status: response.status }
    },
  }
}

/** The SDK's client takes no signal for one call, so each call carries its own in the context it runs in. */
function createApiCall(token: string, apiUrl: string, logger: SdkLogger): RawApiCall {
  const signals = new AsyncLocalStorage<AbortSignal>()
  const client = new webApi.WebClient(token, {
    ...clientOptions(apiUrl),
    logger,
    // A call that waited in a queue would run in the context of another one.
    maxRequestConcurrency: Number.POSITIVE_INFINITY,
    fetch: (url, init) => fetch(url, { ...init, signal: signals.getStore() ?? null }),
  })
  return (method, args, signal) => signals.run(signal, () => client.apiCall(method, { ...args }))
}

/** Only the outbox tries again: the SDK would post a message twice whose answer was lost. */
function clientOptions(apiUrl: string) {
  return { slackApiUrl: apiUrl, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true }
}

type SdkLogger = NonNullable<webApi.WebClientOptions['logger']>

/** What the SDK says beside its answers; its debug lines hold whole messages and are dropped. */
function createSdkLogger(say: (line: string) => void): SdkLogger {
  const tell = (...parts: unknown[]) => say(parts.map(String).join(' ').slice(0, 500))
  const nothing = () => undefined
  return {
    debug: nothing,
    info: nothing,
    warn: tell,
    error: tell,
    setLevel: nothing,
    getLevel: () => LogLevel.WARN,
    setName: nothing,
  }
}

export default definePlatform({
  createAdapter,
  async diagnose({ account, options: given, gatewayUrl }: DiagnosticContext, signal) {
    const options = parseOptions(given, account)
    const silent = createSdkLogger(() => undefined)
    const asking = (token: string) => {
      const call = createApi({ call: createApiCall(token, options.apiUrl, silent), clock: Date.now, stopping: signal })
      return (method: string) => call(method, {}, signal)
    }
    const appToken = options.transport.mode === 'socket' ? options.transport.appToken : ''
    return await diagnose({
      account,
      options,
      gatewayUrl,
      callWithBotToken: asking(options.botToken),
      callWithAppToken: asking(appToken),
    })
  },
})
