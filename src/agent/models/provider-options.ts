/**
 * The options of a provider that calls a vendor, and their defaults.
 */
import type { ProviderQuirks } from './catalogue.ts'
import type { ProviderErrorContext } from './map-provider-error.ts'
import type { ProviderMonitor } from './model-call-monitor.ts'
import type { ServerRequestSettings } from './server-request.ts'

export interface StreamLimits {
  /** Milliseconds without output of the model after which the call fails. */
  readonly idleTimeoutMs: number
  /** Milliseconds after which the call fails, however much the model sends. */
  readonly totalTimeoutMs: number
  /** Characters of one response: text, reasoning and tool arguments together. */
  readonly maxChars: number
}

export const defaultStreamLimits: StreamLimits = {
  idleTimeoutMs: 600_000,
  totalTimeoutMs: 1_800_000,
  maxChars: 2_000_000,
}

export interface ProviderOptions {
  /** For people, hooks and plugins: `openai`, `openrouter`. */
  readonly name: string
  readonly quirks: ProviderQuirks
  /** '' for a server without authentication. */
  readonly apiKey: string
  /** Without a trailing slash. */
  readonly baseUrl: string
  /** Its entry of `providers`, with what each request to it has. */
  readonly server: ServerRequestSettings | undefined
  readonly limits: StreamLimits
  /** Undefined when nothing watches the calls. */
  readonly monitor: ProviderMonitor | undefined
  /** Undefined: no model of it is shown any picture. */
  readonly pictures: PictureOptions | undefined
}

export interface PictureOptions {
  /** The folder of the files that `ImagePart.file` names. */
  readonly folder: string
  /** Whether this model reads pictures. */
  sees(model: string): boolean
  /** Whether the provider has refused pictures for this model. */
  isRefused(model: string): boolean
  onRefused(model: string): void
}

type Optional<Fields> = { readonly [Key in keyof Fields]?: Fields[Key] | undefined }

export type ProviderOverrides = Pick<ProviderOptions, 'name' | 'apiKey' | 'baseUrl'> &
  Optional<Omit<ProviderOptions, 'limits'> & StreamLimits>

export function createProviderOptions({
  name,
  quirks = {},
  apiKey,
  baseUrl,
  server,
  idleTimeoutMs = defaultStreamLimits.idleTimeoutMs,
  totalTimeoutMs = defaultStreamLimits.totalTimeoutMs,
  maxChars = defaultStreamLimits.maxChars,
  monitor,
  pictures,
}: ProviderOverrides): ProviderOptions {
  const limits = { idleTimeoutMs, totalTimeoutMs, maxChars }
  return { name, quirks, apiKey, baseUrl, server, limits, monitor, pictures }
}

export function providerErrorContext({ baseUrl, apiKey }: ProviderOptions): ProviderErrorContext {
  return { host: new URL(baseUrl).host, secrets: [apiKey], now: Date.now }
}
