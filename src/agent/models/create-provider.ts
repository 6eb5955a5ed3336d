/**
 * Creates the configured provider. Never throws and loads no SDK: an invalid setting must not stop the start of the
 * daemon. It is reported when a turn needs the model.
 */
import { findClosestMatch } from '../../lib/did-you-mean.ts'
import { HermesError } from '../../lib/errors.ts'
import { createAnthropicProvider } from './anthropic/anthropic-provider.ts'
import { catalogue, isSeeingModel } from './catalogue.ts'
import { createDemoProvider, DEMO_MODEL } from './demo/demo-provider.ts'
import type { ProviderMonitor } from './model-call-monitor.ts'
import { createOpenAiChatProvider, createOpenAiResponsesProvider } from './openai/openai-providers.ts'
import { pricesAt } from './prices.ts'
import type { ModelPrice, Provider } from './provider.ts'
import { createProviderOptions, type StreamLimits } from './provider-options.ts'
import { findServer, type ProviderChoice, type ProviderSelection, resolveProvider } from './resolve-provider.ts'

export interface ProviderSettings extends ProviderSelection, Partial<StreamLimits> {
  /** The key, or that there is none, belongs to this use of the provider. No other key is sent instead. */
  readonly hasOwnKey?: boolean
  /** The prices of `model_prices`; they take precedence. */
  readonly modelPrices?: Readonly<Record<string, ModelPrice>>
  /** Which models are shown pictures; `auto` when omitted. */
  readonly imageInputMode?: 'auto' | 'native' | 'text'
}

export interface ProviderDeps {
  /** Delays the chunks of the demonstration. Without it all chunks are sent at once. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>
  readonly monitor?: ProviderMonitor
  /** The folder of pictures. Without it, no model is shown any. */
  readonly picturesFolder?: string
}

export type CreateProviderResult =
  | { readonly provider: Provider; readonly model: string }
  | { readonly problem: HermesError }

/** The provider and the model, or the `problem` with a hint about the missing setting. */
export function createProvider(settings: ProviderSettings, deps: ProviderDeps = {}): CreateProviderResult {
  const choice = resolveProvider(settings)
  if (choice === undefined) return { problem: unknownProvider(settings) }
  if (choice.name === 'demo') return { provider: createDemoProvider(deps.sleep), model: settings.model || DEMO_MODEL }
  if (choice.name === 'none') return { problem: noProvider() }
  const apiKey = choice.keys[0]?.secret ?? ''
  const problem = checkBaseUrl(choice) ?? checkApiKey(choice, apiKey) ?? checkModel(choice, settings.model)
  if (problem !== undefined) return { problem }
  return { provider: createProviderWithKey(choice, apiKey, settings, deps), model: settings.model }
}

/** A provider that sends this key. The choice has been checked. */
function createProviderWithKey(
  { name, apiMode, baseUrl, quirks, isOfficial, server }: ProviderChoice,
  apiKey: string,
  settings: ProviderSettings,
  { monitor, picturesFolder: folder }: ProviderDeps,
): Provider {
  const { idleTimeoutMs, totalTimeoutMs, maxChars, modelPrices } = settings
  const limits = { idleTimeoutMs, totalTimeoutMs, maxChars }
  const pictures =
    folder === undefined
      ? undefined
      : {
          folder,
          sees: (model: string) => seesPictures(settings, name, model),
          isRefused: (model: string) => monitor?.pictureRefusals?.has(baseUrl, model) === true,
          onRefused: (model: string) => monitor?.pictureRefusals?.add(baseUrl, model),
        }
  const about = { name, apiKey, baseUrl, quirks, server }
  const options = createProviderOptions({ ...about, ...limits, monitor, pictures })
  const create = {
    chat_completions: createOpenAiChatProvider,
    codex_responses: createOpenAiResponsesProvider,
    anthropic_messages: createAnthropicProvider,
  }[apiMode]
  return { ...create(options), prices: pricesAt({ name, baseUrl, isOfficial }, modelPrices) }
}

export function seesPictures(
  { imageInputMode = 'auto', providers }: Pick<ProviderSettings, 'imageInputMode' | 'providers'>,
  name: string,
  model: string,
): boolean {
  if (imageInputMode !== 'auto') return imageInputMode === 'native'
  const server = findServer(providers, name)?.server
  return server?.models?.[model]?.supports_vision ?? server?.supports_vision ?? isSeeingModel(model)
}

function unknownProvider({ provider = '', providers = {} }: ProviderSettings): HermesError {
  const names = [...Object.keys(providers), ...Object.keys(catalogue), 'demo', 'none']
  const closest = findClosestMatch(provider, names)
  const question = closest === null ? '' : ` Did you mean ${JSON.stringify(closest)}?`
  return new HermesError('config/no-model', `No provider is named ${JSON.stringify(provider)}.${question}`, {
    hint: `Set \`provider\` to one of ${names.join(', ')}, or describe the server under \`providers\`.`,
  })
}

function noProvider(): HermesError {
  return new HermesError(
    'config/no-model',
    'No provider is configured (`provider: none`, or an invalid setting of it).',
    {
      hint: 'Correct `provider`, `base_url` and `api_key` in config.yaml; `hermes config check` shows what is wrong.',
    },
  )
}

function checkBaseUrl({ name, baseUrl }: ProviderChoice): HermesError | undefined {
  if (baseUrl === '') {
    return new HermesError('config/no-model', `The address of the provider ${name} is missing.`, {
      hint: 'Set `base_url` to the address of the API, for example http://127.0.0.1:11434/v1.',
    })
  }
  const url = URL.parse(baseUrl)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return new HermesError('config/invalid', '`base_url` is not an http or https address.', {
      hint: 'Set `base_url` to the address of the API, for example http://127.0.0.1:11434/v1.',
    })
  }
  if (url.username === '' && url.password === '') return undefined
  return new HermesError('config/invalid', '`base_url` contains a user name or a password.', {
    hint: 'Remove them from `base_url` and put the key into `api_key`.',
  })
}

function checkApiKey({ name, isOfficial, keyVariable }: ProviderChoice, apiKey: string): HermesError | undefined {
  // A local server may need no key; the vendors always need one.
  if (apiKey === '' && isOfficial) {
    return new HermesError('config/no-model', `The key of ${name} is missing.`, {
      hint: `Set ${keyVariable} in .env (or \`api_key\` in config.yaml).`,
    })
  }
  if (/^[\x21-\x7e]*$/.test(apiKey)) return undefined
  return new HermesError('config/no-model', `The key of ${name} contains a space or another invalid character.`, {
    hint: `Copy the key into ${keyVariable} again, on one line and without quotes inside.`,
  })
}

function checkModel({ name }: ProviderChoice, model: string): HermesError | undefined {
  if (model !== '') return undefined
  return new HermesError('config/no-model', `The provider is ${name}, but no model is configured.`, {
    hint: 'Set `model` in config.yaml to the name that the provider uses for the model.',
  })
}
