/**
 * Picks the provider that the configuration means. Never throws and loads no SDK: a wrong setting must not stop a boot,
 * it is told where a model is asked for.
 */
import { HermesError } from '../../lib/errors.ts'
import { createAnthropicProvider } from './anthropic/anthropic-provider.ts'
import { ANTHROPIC_URL } from './anthropic/transport.ts'
import { createDemoProvider, DEMO_MODEL, type DemoDeps } from './demo/demo-provider.ts'
import type { FetchFunction } from './limit-error-body.ts'
import { createOpenAiChatProvider, OPENAI_URL } from './openai/chat-provider.ts'
import { createOpenAiResponsesProvider } from './openai/responses-provider.ts'
import type { Provider } from './provider.ts'
import { createProviderOptions } from './provider-options.ts'
import { type ProviderName, type ProviderSelection, resolveProviderName } from './resolve-provider-name.ts'
import type { StreamLimits } from './stream-response.ts'

export interface ProviderSettings extends ProviderSelection, Partial<StreamLimits> {}

export interface ProviderDeps extends DemoDeps {
  readonly fetch?: FetchFunction
  readonly now?: () => number
}

export type CreateProviderResult =
  | { readonly provider: Provider; readonly model: string }
  | { readonly problem: HermesError }

/** `{ provider, model }` to be used, or the `problem` that says what to set. */
export function createProvider(settings: ProviderSettings, deps: ProviderDeps = {}): CreateProviderResult {
  const name = resolveProviderName(settings)
  if (name === 'demo') return { provider: createDemoProvider(deps), model: settings.model || DEMO_MODEL }
  const baseUrl = settings.baseUrl.replace(/\/+$/, '')
  const apiKey = settings.apiKey || (name === 'anthropic' ? settings.anthropicApiKey : settings.openaiApiKey)
  const problem = checkBaseUrl(baseUrl) ?? checkApiKey(name, apiKey, baseUrl) ?? checkModel(name, settings.model)
  if (problem !== undefined) return { problem }
  const address = name === 'anthropic' ? baseUrl.replace(/\/v1$/, '') || ANTHROPIC_URL : baseUrl || OPENAI_URL
  const options = createProviderOptions({ ...deps, ...settings, apiKey, baseUrl: address })
  const create = {
    openai: createOpenAiChatProvider,
    'openai-responses': createOpenAiResponsesProvider,
    anthropic: createAnthropicProvider,
  }[name]
  return { provider: create(options), model: settings.model }
}

function checkBaseUrl(baseUrl: string): HermesError | undefined {
  if (baseUrl === '') return undefined
  const url = URL.parse(baseUrl)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return new HermesError('config/invalid', 'base_url is not an http or https address.', {
      hint: 'Set `base_url` to the address of the API, for example http://127.0.0.1:11434/v1.',
    })
  }
  if (url.username === '' && url.password === '') return undefined
  return new HermesError('config/invalid', 'base_url holds a user name or a password.', {
    hint: 'Leave them out of `base_url` and put the key into `api_key`.',
  })
}

function checkApiKey(name: ProviderName, apiKey: string, baseUrl: string): HermesError | undefined {
  const variable = name === 'anthropic' ? 'ANTHROPIC_API_KEY' : 'OPENAI_API_KEY'
  // A server of one's own may want no key; the vendors always do.
  if (apiKey === '' && baseUrl === '') {
    return new HermesError('config/no-model', `The key of ${name} is missing.`, {
      hint: `Set ${variable} in .env (or \`api_key\` in config.yaml).`,
    })
  }
  if (/^[\x21-\x7e]*$/.test(apiKey)) return undefined
  return new HermesError('config/no-model', `The key of ${name} holds a space or a character no key has.`, {
    hint: `Copy the key again into ${variable}, on one line and without quotes inside.`,
  })
}

function checkModel(name: ProviderName, model: string): HermesError | undefined {
  if (model !== '') return undefined
  return new HermesError('config/no-model', `The provider is ${name}, but no model is named.`, {
    hint: 'Set `model` in config.yaml to the name of a model as the provider writes it.',
  })
}
