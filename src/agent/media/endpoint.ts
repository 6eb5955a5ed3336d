/**
 * Decides who transcribes, speaks and draws: a server with the API of OpenAI, FAL, or a program on this machine. Pure.
 */

import type { MediaToolsConfig } from '../../media/config.ts'
import type { ProviderSettings } from '../models/create-provider.ts'
import { type ProviderChoice, resolveProvider } from '../models/resolve-provider.ts'
import { splitCommand } from './split-command.ts'

export type MediaTask = 'stt' | 'tts' | 'image'

export type Endpoint =
  | { readonly kind: 'command'; readonly argv: readonly string[] }
  /** `selection` names the server and its keys; stored keys may be added. */
  | { readonly kind: 'openai'; readonly selection: ProviderSettings; readonly model: string }
  | { readonly kind: 'fal'; readonly key: string; readonly baseUrl: string; readonly model: string }
  /** `problem`: why nothing is used, for people. `isWanted`: the configuration asks for it. */
  | { readonly kind: 'none'; readonly problem: string; readonly isWanted: boolean }

export interface EndpointInput {
  readonly task: MediaTask
  readonly settings: MediaToolsConfig
  /** The model of the conversations. */
  readonly main: ProviderSettings
  /** Whether auth.json has a key for this server. */
  hasStoredKey(selection: ProviderSettings): boolean
}

/** Providers that transcribe with the API of OpenAI. */
const transcribers = {
  groq: { base_url: 'https://api.groq.com/openai/v1', key_env: 'GROQ_API_KEY' },
  mistral: { base_url: 'https://api.mistral.ai/v1', key_env: 'MISTRAL_API_KEY' },
} as const

const falUrl = 'https://fal.run'

/** A variable of Hermes for a key that is used for voices alone. */
const voiceKey = 'VOICE_TOOLS_OPENAI_KEY'

export function chooseEndpoint(input: EndpointInput): Endpoint {
  const { task, settings } = input
  const taskSettings = task === 'image' ? { ...settings.image_gen, command: '' } : settings[task]
  const { provider, base_url: baseUrl } = taskSettings
  const argv = typeof taskSettings.command === 'string' ? splitCommand(taskSettings.command) : taskSettings.command
  if (provider === 'none') return absent('`provider` is none', false)
  if (argv === undefined) return absent(`\`${keyOf(task)}.command\` has a quote that is not closed`, true)
  if (provider === 'local' || provider === 'command' || (provider === 'auto' && argv.length > 0 && baseUrl === '')) {
    const isSpoken = task !== 'image'
    if (argv.length > 0) return { kind: 'command', argv }
    return absent(
      isSpoken ? `\`${keyOf(task)}.command\` names no program` : 'pictures cannot be drawn by a program',
      true,
    )
  }
  if (task === 'image' && (provider === 'fal' || (provider === 'auto' && baseUrl === '' && commonFalKey(input) !== '')))
    return chooseFal(input)
  return provider === 'auto' && baseUrl === '' ? chooseByKey(input) : chooseServer(input)
}

function chooseFal(input: EndpointInput): Endpoint {
  const { base_url: baseUrl, model, provider, api_key: ownKey } = input.settings.image_gen
  // A key goes only to the address for which it was configured: with `auto`, `api_key` is none of FAL.
  const key = (provider === 'fal' ? ownKey : '') || (baseUrl === '' ? commonFalKey(input) : '')
  if (key === '') return absent(`${baseUrl === '' ? 'FAL_KEY' : '`image_gen.api_key`'} is missing`, true)
  return { kind: 'fal', key, baseUrl: baseUrl.replace(/\/+$/, '') || falUrl, model: model || 'fal-ai/flux-2/klein/9b' }
}

/** The key for `falUrl`. */
function commonFalKey({ main }: EndpointInput): string {
  return main.variables['FAL_KEY'] ?? ''
}

/** The configured server. */
function chooseServer(input: EndpointInput): Endpoint {
  const { task, settings } = input
  const { provider, base_url: baseUrl, api_key: apiKey } = settings[task === 'image' ? 'image_gen' : task]
  if (baseUrl !== '') {
    // A key goes only to the address for which it was configured.
    const server = { baseUrl, apiKey, hasOwnKey: true, variables: {}, providers: {} }
    const selection = { provider: 'custom', model: '', ...server }
    return { kind: 'openai', selection, model: modelOf(input, '') }
  }
  if (provider === 'main') return withMain(input)
  const selection = selectionOf(input, provider)
  const choice = resolveProvider(selection)
  if (choice === undefined) return absent(`no provider is named ${JSON.stringify(provider)}`, true)
  if (choice.apiMode === 'anthropic_messages')
    return absent(`${provider} offers no API for this (\`${keyOf(task)}.provider\`)`, true)
  if (!isUsable(input, selection, choice))
    return absent(`the key of ${choice.name} is missing (${choice.keyVariable})`, true)
  return { kind: 'openai', selection, model: modelOf(input, choice.name) }
}

function withMain(input: EndpointInput): Endpoint {
  const { task, main } = input
  const choice = resolveProvider(main)
  if (choice === undefined || choice.baseUrl === '' || choice.apiMode === 'anthropic_messages')
    return absent(`the provider of the model offers no API for this (\`${keyOf(task)}.provider: main\`)`, true)
  if (!isUsable(input, main, choice))
    return absent(`the key of ${choice.name} is missing (${choice.keyVariable})`, true)
  return { kind: 'openai', selection: main, model: modelOf(input, choice.name) }
}

/** The first provider with a key that was given for its own server. */
function chooseByKey(input: EndpointInput): Endpoint {
  const { task } = input
  const names = task === 'stt' ? ['openai', ...Object.keys(transcribers)] : ['openai']
  for (const provider of names) {
    const selection = selectionOf(input, provider)
    const choice = resolveProvider(selection)
    if (choice === undefined || !isUsable(input, selection, choice) || !isMeantFor(input, provider)) continue
    return { kind: 'openai', selection, model: modelOf(input, choice.name) }
  }
  return absent(missing[task], false)
}

const missing: Readonly<Record<MediaTask, string>> = {
  stt: 'no key of OpenAI, Groq or Mistral, and no `stt.command`',
  tts: 'no key of OpenAI, and no `tts.command`',
  image: 'no FAL_KEY, and no key of OpenAI',
}

/** OPENAI_API_KEY often holds the key of the server at `base_url`, which must not go to OpenAI. */
function isMeantFor({ task, main }: EndpointInput, provider: string): boolean {
  if (provider !== 'openai' || main.baseUrl === '') return true
  return task !== 'image' && (main.variables[voiceKey] ?? '') !== ''
}

function isUsable(
  { hasStoredKey }: EndpointInput,
  selection: ProviderSettings,
  { name, keys, isOfficial }: ProviderChoice,
): boolean {
  const needsKey = isOfficial || Object.hasOwn(transcribers, name)
  return keys.length > 0 || !needsKey || hasStoredKey(selection)
}

function selectionOf(input: EndpointInput, provider: string): ProviderSettings {
  const { task, settings, main } = input
  const { api_key: apiKey } = settings[task === 'image' ? 'image_gen' : task]
  const voiceKeyValue =
    task !== 'image' && (main.variables[voiceKey] ?? '') !== '' ? main.variables[voiceKey] : undefined
  const variables =
    voiceKeyValue === undefined || provider !== 'openai'
      ? main.variables
      : { ...main.variables, OPENAI_API_KEY: voiceKeyValue }
  // A key in the flat keys of the configuration is that of the provider of the model.
  const isMain = main.baseUrl === '' && resolveProvider(main)?.name.replace('-responses', '') === provider
  return {
    ...{ provider, model: '', baseUrl: '', variables },
    apiKey: apiKey || (isMain && voiceKeyValue === undefined ? main.apiKey : ''),
    hasOwnKey: apiKey !== '' || (voiceKeyValue !== undefined && provider === 'openai'),
    providers: { ...(task === 'stt' ? transcribers : {}), ...main.providers },
  }
}

const usualModels: Readonly<Record<MediaTask, Readonly<Record<string, string>>>> = {
  stt: {
    openai: 'gpt-4o-mini-transcribe',
    'openai-responses': 'gpt-4o-mini-transcribe',
    groq: 'whisper-large-v3-turbo',
    mistral: 'voxtral-mini-latest',
  },
  tts: {},
  image: {},
}

/** What compatible servers call the model. */
const commonModels: Readonly<Record<MediaTask, string>> = {
  stt: 'whisper-1',
  tts: 'gpt-4o-mini-tts',
  image: 'gpt-image-1.5',
}

function modelOf({ task, settings }: EndpointInput, provider: string): string {
  return settings[task === 'image' ? 'image_gen' : task].model || usualModels[task][provider] || commonModels[task]
}

function keyOf(task: MediaTask): string {
  return task === 'image' ? 'image_gen' : task
}

function absent(problem: string, isWanted: boolean): Endpoint {
  return { kind: 'none', problem, isWanted }
}
