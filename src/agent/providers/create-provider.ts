/**
 * Picks the provider that the configuration means. Never throws and loads no SDK: a wrong setting must not stop a boot,
 * it is told where a model is asked for.
 */
import { HermesError } from '../../lib/errors.ts'
import type { Provider } from '../provider.ts'
import { createAnthropic } from './anthropic.ts'
import { ANTHROPIC_URL } from './anthropic-sdk.ts'
import type { FetchFunction } from './bounded-fetch.ts'
import { createDemo, DEMO_MODEL, type DemoDeps } from './demo.ts'
import { createOpenAiChat, OPENAI_URL } from './openai-chat.ts'
import { createOpenAiResponses } from './openai-responses.ts'
import { providerOptions } from './options.ts'
import { type ProviderHints, type ProviderName, providerName } from './provider-name.ts'
import type { CallLimits } from './stream-call.ts'

export interface ProviderSettings extends ProviderHints, Partial<CallLimits> {}

export interface ProviderDeps extends DemoDeps {
  readonly fetch?: FetchFunction
  readonly now?: () => number
}

export type ProviderChoice = { readonly provider: Provider; readonly model: string } | { readonly problem: HermesError }

/** `{ provider, model }` to be used, or the `problem` that says what to set. */
export function createProvider(settings: ProviderSettings, deps: ProviderDeps = {}): ProviderChoice {
  const name = providerName(settings)
  if (name === 'demo') return { provider: createDemo(deps), model: settings.model || DEMO_MODEL }
  const baseUrl = settings.baseUrl.replace(/\/+$/, '')
  const apiKey = settings.apiKey || (name === 'anthropic' ? settings.anthropicApiKey : settings.openaiApiKey)
  const problem = addressProblem(baseUrl) ?? keyProblem(name, apiKey, baseUrl) ?? modelProblem(name, settings.model)
  if (problem !== undefined) return { problem }
  const address = name === 'anthropic' ? baseUrl.replace(/\/v1$/, '') || ANTHROPIC_URL : baseUrl || OPENAI_URL
  const options = providerOptions({ ...deps, ...settings, apiKey, baseUrl: address })
  const create = { openai: createOpenAiChat, 'openai-responses': createOpenAiResponses, anthropic: createAnthropic }[
    name
  ]
  return { provider: create(options), model: settings.model }
}

function addressProblem(baseUrl: string): HermesError | undefined {
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

function keyProblem(name: ProviderName, apiKey: string, baseUrl: string): HermesError | undefined {
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

function modelProblem(name: ProviderName, model: string): HermesError | undefined {
  if (model !== '') return undefined
  return new HermesError('config/no-model', `The provider is ${name}, but no model is named.`, {
    hint: 'Set `model` in config.yaml to the name of a model as the provider writes it.',
  })
}
