/**
 * Creates the configured provider. Never throws and loads no SDK: an invalid setting must not stop the start of the
 * daemon. It is reported when a turn needs the model.
 */
import { HermesError } from '../../lib/errors.ts'
import { ANTHROPIC_URL, createAnthropicProvider } from './anthropic/anthropic-provider.ts'
import { createDemoProvider, DEMO_MODEL, type DemoDeps } from './demo/demo-provider.ts'
import type { FetchFunction } from './http-fetch.ts'
import type { ModelCallMonitor } from './model-call-monitor.ts'
import { createOpenAiChatProvider, createOpenAiResponsesProvider, OPENAI_URL } from './openai/openai-providers.ts'
import type { Provider } from './provider.ts'
import { createProviderOptions, type StreamLimits } from './provider-options.ts'
import { type ProviderName, type ProviderSelection, resolveProviderName } from './resolve-provider-name.ts'

export interface ProviderSettings extends ProviderSelection, Partial<StreamLimits> {}

export interface ProviderDeps extends DemoDeps {
  readonly fetch?: FetchFunction
  readonly now?: () => number
  readonly monitor?: Pick<ModelCallMonitor, 'begin'>
}

export type CreateProviderResult =
  | { readonly provider: Provider; readonly model: string }
  | { readonly problem: HermesError }

/** The provider and the model, or the `problem` with a hint about the missing setting. */
export function createProvider(settings: ProviderSettings, deps: ProviderDeps = {}): CreateProviderResult {
  const name = resolveProviderName(settings)
  if (name === 'demo') return { provider: createDemoProvider(deps), model: settings.model || DEMO_MODEL }
  if (name === 'none') return { problem: noProvider() }
  const baseUrl = settings.baseUrl.replace(/\/+$/, '')
  const apiKey = settings.apiKey || (name === 'anthropic' ? settings.anthropicApiKey : settings.openaiApiKey)
  const problem = checkBaseUrl(baseUrl) ?? checkApiKey(name, apiKey, baseUrl) ?? checkModel(name, settings.model)
  if (problem !== undefined) return { problem }
  const address = name === 'anthropic' ? baseUrl.replace(/\/v1$/, '') || ANTHROPIC_URL : baseUrl || OPENAI_URL
  const options = createProviderOptions({
    apiKey,
    baseUrl: address,
    idleTimeoutMs: settings.idleTimeoutMs,
    totalTimeoutMs: settings.totalTimeoutMs,
    maxChars: settings.maxChars,
    fetch: deps.fetch,
    now: deps.now,
    monitor: deps.monitor,
  })
  const create = {
    openai: createOpenAiChatProvider,
    'openai-responses': createOpenAiResponsesProvider,
    anthropic: createAnthropicProvider,
  }[name]
  return { provider: create(options), model: settings.model }
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

function checkBaseUrl(baseUrl: string): HermesError | undefined {
  if (baseUrl === '') return undefined
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

function checkApiKey(name: ProviderName, apiKey: string, baseUrl: string): HermesError | undefined {
  const variable = name === 'anthropic' ? 'ANTHROPIC_API_KEY' : 'OPENAI_API_KEY'
  // A local server may need no key; the vendors always need one.
  if (apiKey === '' && baseUrl === '') {
    return new HermesError('config/no-model', `The key of ${name} is missing.`, {
      hint: `Set ${variable} in .env (or \`api_key\` in config.yaml).`,
    })
  }
  if (/^[\x21-\x7e]*$/.test(apiKey)) return undefined
  return new HermesError('config/no-model', `The key of ${name} contains a space or another invalid character.`, {
    hint: `Copy the key into ${variable} again, on one line and without quotes inside.`,
  })
}

function checkModel(name: ProviderName, model: string): HermesError | undefined {
  if (model !== '') return undefined
  return new HermesError('config/no-model', `The provider is ${name}, but no model is configured.`, {
    hint: 'Set `model` in config.yaml to the name that the provider uses for the model.',
  })
}
