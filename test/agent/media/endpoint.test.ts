import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { chooseEndpoint, type Endpoint, type MediaTask } from '../../../src/agent/media/endpoint.ts'
import type { ProviderSettings } from '../../../src/agent/models/create-provider.ts'
import { resolveProvider } from '../../../src/agent/models/resolve-provider.ts'
import { mediaConfig } from '../../../src/media/config.ts'

interface Given {
  readonly config?: object
  readonly main?: Partial<ProviderSettings>
  readonly variables?: Readonly<Record<string, string>>
  readonly stored?: readonly string[]
}

/** What is chosen, with the address and the key that would be sent there. */
function choose(task: MediaTask, { config = {}, main = {}, variables = {}, stored = [] }: Given = {}) {
  const found = chooseEndpoint({
    task,
    settings: z.object(mediaConfig).parse(config),
    main: { model: 'm', baseUrl: '', apiKey: '', variables, ...main },
    hasStoredKey: ({ provider = '' }) => stored.includes(provider),
  })
  return { ...found, sent: sentTo(found) }
}

function sentTo(found: Endpoint) {
  if (found.kind !== 'openai') return undefined
  const choice = resolveProvider(found.selection)
  return `${choice?.baseUrl} ${choice?.keys[0]?.secret ?? '-'} ${found.model}`
}

const openAi = 'https://api.openai.com/v1'

test('a key of OpenAI is enough to hear, to speak and to draw', () => {
  const variables = { OPENAI_API_KEY: 'sk-1' }
  assert.equal(choose('stt', { variables }).sent, `${openAi} sk-1 gpt-4o-mini-transcribe`)
  assert.equal(choose('tts', { variables }).sent, `${openAi} sk-1 gpt-4o-mini-tts`)
  assert.equal(choose('image', { variables }).sent, `${openAi} sk-1 gpt-image-1.5`)
})

test('a key in the flat keys counts where it belongs to OpenAI', () => {
  for (const provider of ['openai', 'openai-responses'])
    assert.equal(choose('tts', { main: { provider, apiKey: 'flat' } }).sent, `${openAi} flat gpt-4o-mini-tts`)
  assert.equal(choose('tts', { main: { provider: 'anthropic', apiKey: 'flat' } }).kind, 'none')
})

test('the key of another server is not sent to OpenAI', () => {
  const given = {
    main: { baseUrl: 'http://10.0.0.1/v1', apiKey: 'own' },
    variables: { OPENAI_API_KEY: 'for-the-server' },
  }
  for (const task of ['stt', 'tts', 'image'] as const) assert.equal(choose(task, given).kind, 'none', task)
})

test('a key for voices alone hears and speaks, and does not draw', () => {
  const given = { main: { baseUrl: 'http://10.0.0.1/v1' }, variables: { VOICE_TOOLS_OPENAI_KEY: 'voice' } }
  assert.equal(choose('stt', given).sent, `${openAi} voice gpt-4o-mini-transcribe`)
  assert.equal(choose('tts', given).sent, `${openAi} voice gpt-4o-mini-tts`)
  assert.equal(choose('image', given).kind, 'none')
})

test('a server that is named gets no key but its own', () => {
  const variables = { OPENAI_API_KEY: 'sk-1' }
  const config = {
    stt: { base_url: 'http://127.0.0.1:9/v1' },
    tts: { base_url: 'http://127.0.0.1:9/v1/', api_key: 'k' },
  }
  assert.equal(choose('stt', { config, variables }).sent, 'http://127.0.0.1:9/v1 - whisper-1')
  assert.equal(choose('tts', { config, variables }).sent, 'http://127.0.0.1:9/v1 k gpt-4o-mini-tts')
})

test('Groq and Mistral hear with keys of their own', () => {
  const groq = choose('stt', { variables: { GROQ_API_KEY: 'g' } })
  assert.equal(groq.sent, 'https://api.groq.com/openai/v1 g whisper-large-v3-turbo')
  const mistral = choose('stt', { variables: { MISTRAL_API_KEY: 'm' }, config: { stt: { provider: 'mistral' } } })
  assert.equal(mistral.sent, 'https://api.mistral.ai/v1 m voxtral-mini-latest')
  assert.equal(choose('tts', { variables: { GROQ_API_KEY: 'g' } }).kind, 'none')
})

test('a stored key is enough', () => {
  assert.equal(choose('stt', { stored: ['openai'] }).sent, `${openAi} - gpt-4o-mini-transcribe`)
})

test('the server of the model is used only when it is named', () => {
  const main = { provider: 'custom', baseUrl: 'http://10.0.0.1/v1', apiKey: 'own' }
  assert.equal(choose('stt', { main }).kind, 'none')
  assert.equal(choose('stt', { main, config: { stt: { provider: 'main' } } }).sent, 'http://10.0.0.1/v1 own whisper-1')
})

test('a name of `providers` is used with its address and its key', () => {
  const main = { providers: { den: { base_url: 'http://den/v1', key_env: 'DEN' } } }
  const given = { main, variables: { DEN: 'd' }, config: { tts: { provider: 'den', model: 'kokoro' } } }
  assert.equal(choose('tts', given).sent, 'http://den/v1 d kokoro')
})

test('a program comes before keys, and its text is split without a shell', () => {
  const config = { stt: { command: `whisper "a b" 'c d' $HOME e\\ f` } }
  const found = choose('stt', { config, variables: { OPENAI_API_KEY: 'sk-1' } })
  assert.deepEqual(found.kind === 'command' && found.argv, ['whisper', 'a b', 'c d', '$HOME', 'e f'])
  assert.equal(choose('stt', { config: { stt: { command: 'whisper "a' } } }).kind, 'none')
})

test('FAL draws where there is a key of it, unless another provider is named', () => {
  const variables = { FAL_KEY: 'f', OPENAI_API_KEY: 'sk-1' }
  const fal = choose('image', { variables })
  assert.deepEqual(fal.kind === 'fal' && [fal.key, fal.baseUrl], ['f', 'https://fal.run'])
  assert.equal(choose('image', { variables, config: { image_gen: { provider: 'openai' } } }).kind, 'openai')
  assert.equal(choose('image', { variables, config: { image_gen: { provider: 'none' } } }).kind, 'none')
})

test('a key for pictures goes to no one but the vendor or the server for which it was configured', () => {
  const config = (image_gen: object) => ({ config: { image_gen }, variables: { FAL_KEY: 'f' } })
  const own = choose('image', { config: { image_gen: { api_key: 'sk-own' } } })
  assert.equal(own.sent, `${openAi} sk-own gpt-image-1.5`)
  const both = choose('image', config({ api_key: 'sk-own' }))
  assert.equal(both.kind === 'fal' && both.key, 'f')
  const other = 'https://pictures.example.com'
  assert.equal(choose('image', config({ provider: 'fal', base_url: other })).kind, 'none')
  const named = choose('image', config({ provider: 'fal', base_url: other, api_key: 'k' }))
  assert.deepEqual(named.kind === 'fal' && [named.key, named.baseUrl], ['k', other])
})

test('what is configured and cannot work is told apart from what is absent', () => {
  const wanted = (given: Given, task: MediaTask = 'stt') => {
    const found = choose(task, given)
    return found.kind === 'none' ? found.isWanted : undefined
  }
  assert.equal(wanted({}), false)
  for (const provider of ['openai', 'edge', 'anthropic', 'local', 'main', 'groq'])
    assert.equal(wanted({ config: { stt: { provider } } }), true, provider)
  assert.equal(wanted({ config: { image_gen: { provider: 'fal' } } }, 'image'), true)
})
