/**
 * Transcribes recordings, speaks texts and draws pictures with what the configuration names. What is made is a file in the folder
 * of media. Loaded with the first of them.
 */
import { createHash } from 'node:crypto'
import { openAsBlob } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type CallOptions, callServer, type ServerKeys } from '../../agent/media/call-server.ts'
import { chooseEndpoint, type Endpoint, type MediaTask } from '../../agent/media/endpoint.ts'
import { MediaProviderError } from '../../agent/media/media-provider-error.ts'
import type { ProgramOptions } from '../../agent/media/run-program.ts'
import type { ProviderSettings } from '../../agent/models/create-provider.ts'
import type { MediaClient } from '../../agent/models/openai/media-client.ts'
import { resolveProvider } from '../../agent/models/resolve-provider.ts'
import type { Environment } from '../../config/environment.ts'
import { systemCode } from '../../lib/errors.ts'
import { ensureDirectory } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { openAtomicFile } from '../../media/atomic-file.ts'
import type { MediaToolsConfig } from '../../media/config.ts'
import { detectFileType, inspectedBytes } from '../../media/detect-file-type.ts'
import { DownloadError } from '../../media/download-error.ts'
import type { AddressRules } from '../../media/safe-fetch.ts'
import type { ModelKeys } from './model-keys.ts'

export interface MediaServicesDeps {
  readonly home: Pick<HomeLayout, 'media' | 'cache'>
  readonly settings: () => MediaToolsConfig
  /** The settings of the configured model, and the stored keys. */
  readonly servers: () => Promise<{
    readonly main: ProviderSettings
    readonly keys: Pick<ModelKeys, 'hasKey' | 'lease'> | undefined
  }>
  readonly environment: () => Pick<Environment, 'process'>
  /** Variables that no program may see. */
  readonly withheld: readonly string[]
  /** ms since 1970 */
  readonly clock: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly addresses?: AddressRules
}

export interface MadeFile {
  readonly path: string
  readonly mimeType: string
}

/** Each method rejects with `MediaProviderError`, with a system error, or with the reason of the signal. */
export interface MediaServices {
  /** The service that does it; `none` says why it cannot be done. */
  endpoint(task: MediaTask): Promise<Endpoint>
  /** What is said in a recording. */
  transcribe(recording: { readonly path: string; readonly mimeType: string }, signal: AbortSignal): Promise<string>
  /** The spoken text, which must not be blank. The same text gives the same file. */
  speak(text: string, signal: AbortSignal): Promise<MadeFile>
  draw(request: { readonly prompt: string; readonly shape: PictureShape }, signal: AbortSignal): Promise<MadeFile>
}

export type PictureShape = 'landscape' | 'square' | 'portrait'

const maxTranscriptBytes = 1_000_000
const maxSoundBytes = 50 * 1_048_576
const maxPictureBytes = 40 * 1_048_576

export function createMediaServices(deps: MediaServicesDeps): MediaServices {
  const { settings } = deps

  async function endpoint(task: MediaTask): Promise<Endpoint> {
    const { main, keys } = await deps.servers()
    const hasStoredKey = (selection: ProviderSettings) => keys?.hasKey(selection) === true
    return chooseEndpoint({ task, settings: settings(), main, hasStoredKey })
  }

  /** The server, or the program, that does the task. */
  async function open(task: MediaTask): Promise<Exclude<Endpoint, { kind: 'none' }>> {
    const resolved = await endpoint(task)
    if (resolved.kind === 'none') throw new MediaProviderError('not-configured', resolved.problem)
    return resolved
  }

  /** @param timeoutMs of one call */
  async function withServer<T>(
    { selection }: Extract<Endpoint, { kind: 'openai' }>,
    timeoutMs: number,
    signal: AbortSignal,
    use: (client: MediaClient) => Promise<T>,
    isCostly = false,
  ): Promise<T> {
    const { createMediaClient } = await import('../../agent/models/openai/media-client.ts')
    const options: CallOptions = { keys: await keysOf(deps, selection), sleep: deps.sleep, signal, isCostly }
    return await callServer(options, (baseUrl, apiKey) =>
      use(createMediaClient({ baseUrl, apiKey, timeoutMs, now: deps.clock })),
    )
  }

  /** Runs in a folder of its own, which is removed afterwards. */
  async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
    ensureDirectory(deps.home.cache)
    const folder = await mkdtemp(join(deps.home.cache, 'media-'))
    try {
      return await work(folder)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  async function run(program: Omit<ProgramOptions, 'env' | 'withheld'>, signal: AbortSignal): Promise<Buffer> {
    const { runProgram } = await import('../../agent/media/run-program.ts')
    return await runProgram({ ...program, env: deps.environment().process, withheld: deps.withheld }, signal)
  }

  return {
    endpoint,

    async transcribe({ path, mimeType }, signal) {
      const { stt } = settings()
      await checkRecording(path, stt)
      const chosen = await open('stt')
      if (chosen.kind === 'command')
        return await inFolder(async (folder) => {
          const values = { input_path: path, output_dir: folder, model: stt.model || 'base', language: stt.language }
          const argv = fillIn(chosen.argv, values, 'input_path')
          const limits = { timeoutMs: stt.timeout * 1_000, maxOutputBytes: maxTranscriptBytes }
          const printed = await run({ argv, cwd: folder, input: '', ...limits }, signal)
          return transcriptOf((await readWritten(folder, '.txt')) ?? printed.toString('utf8'))
        })
      if (chosen.kind !== 'openai') throw new MediaProviderError('not-configured', 'it does not transcribe')
      const file = new File([await openAsBlob(path, { type: mimeType })], basename(path), { type: mimeType })
      const request = { file, model: chosen.model, language: stt.language }
      return transcriptOf(
        await withServer(chosen, stt.timeout * 1_000, signal, (client) => client.transcribe(request, signal)),
      )
    },

    async speak(text, signal) {
      const { tts } = settings()
      const chosen = await open('tts')
      if (chosen.kind === 'fal') throw new MediaProviderError('not-configured', 'it does not speak')
      const voice = { voice: tts.voice, speed: tts.speed }
      const name = `speech-${hashOf([text, voice, chosen.kind === 'command' ? chosen.argv : chosen.model])}`
      const known = await findMade(deps, name)
      if (known !== undefined) return known
      if (chosen.kind === 'openai') {
        const request = { text, model: chosen.model, ...voice }
        return await storeSound(
          deps,
          name,
          await withServer(chosen, tts.timeout * 1_000, signal, (client) => client.speak(request, signal)),
        )
      }
      return await inFolder(async (folder) => {
        const textPath = join(folder, 'text.txt')
        await writeFile(textPath, text, { mode: 0o600 })
        const values = {
          ...{ text_path: textPath, input_path: textPath, output_path: join(folder, 'speech.ogg') },
          ...{ voice: tts.voice, speed: String(tts.speed) },
        }
        const readsFile = chosen.argv.some((part) => /\{(?:text|input)_path\}/.test(part))
        const argv = fillIn(chosen.argv, values)
        const input = readsFile ? '' : text
        const limits = { timeoutMs: tts.timeout * 1_000, maxOutputBytes: maxSoundBytes }
        const printed = await run({ argv, cwd: folder, input, ...limits }, signal)
        return await storeSound(deps, name, (await readSound(values.output_path)) ?? printed)
      })
    },

    async draw({ prompt, shape }, signal) {
      const chosen = await open('image')
      const timeoutMs = settings().image_gen.timeout * 1_000
      if (chosen.kind === 'command')
        throw new MediaProviderError('not-configured', 'pictures cannot be drawn by a program')
      const drawn =
        chosen.kind === 'fal'
          ? await (await import('../../agent/media/fal-client.ts')).drawWithFal(
              { ...chosen, prompt, shape, timeoutMs, now: deps.clock, sleep: deps.sleep },
              signal,
            )
          : await withServer(
              chosen,
              timeoutMs,
              signal,
              (client) => client.draw({ prompt, model: chosen.model, size: sizes[shape] }, signal),
              true,
            )
      const baseUrl = chosen.kind === 'fal' ? chosen.baseUrl : (resolveProvider(chosen.selection)?.baseUrl ?? '')
      const bytes = 'bytes' in drawn ? drawn.bytes : await download(drawn.url, baseUrl, signal, deps.addresses)
      return await storePicture(deps, bytes)
    },
  }
}

const sizes: Readonly<Record<PictureShape, string>> = {
  landscape: '1536x1024',
  square: '1024x1024',
  portrait: '1024x1536',
}

/** Rejects with `MediaProviderError` what no server would take. */
async function checkRecording(path: string, { max_mb, max_minutes }: MediaToolsConfig['stt']): Promise<void> {
  const { size } = await stat(path).catch((cause: unknown) => {
    throw new MediaProviderError('failed', `the file cannot be read (${systemCode(cause) ?? 'unknown reason'})`, {
      cause,
    })
  })
  if (size === 0) throw new MediaProviderError('empty', 'the recording is empty')
  if (size > max_mb * 1_048_576)
    throw new MediaProviderError('too-large', `it is larger than the limit of ${max_mb} MB for transcripts`)
  const { readAudioDuration } = await import('../../media/audio-duration.ts')
  const seconds = await readAudioDuration(path)
  if (seconds !== undefined && seconds > max_minutes * 60) {
    const minutes = Math.ceil(seconds / 60)
    const reason = `it lasts ${minutes} minutes, and the limit for transcripts is ${max_minutes}`
    throw new MediaProviderError('too-long', reason)
  }
}

function transcriptOf(text: string): string {
  const said = text.toWellFormed().trim()
  if (said === '') throw new MediaProviderError('empty', 'no words were understood in it')
  return said
}

/** The keys of a server: leased from the stored ones, or else that of the configuration or the environment. */
async function keysOf(
  deps: MediaServicesDeps,
  selection: Extract<Endpoint, { kind: 'openai' }>['selection'],
): Promise<ServerKeys> {
  const choice = resolveProvider(selection)
  const { keys } = await deps.servers()
  const lease = keys?.lease(selection)
  const baseUrl = choice?.baseUrl ?? ''
  if (lease === undefined)
    return {
      baseUrl: () => baseUrl,
      secret: () => choice?.keys[0]?.secret ?? '',
      rotate: () => false,
      succeeded: () => undefined,
    }
  return {
    baseUrl: () => lease.credential.baseUrl || baseUrl,
    secret: () => lease.credential.secret,
    rotate: (failure) => lease.failed(failure) === 'rotated',
    succeeded: () => lease.succeeded(),
  }
}

/** Replaces `{name}`. What no argument names is added at the end. */
function fillIn(argv: readonly string[], values: Readonly<Record<string, string>>, needed?: string): string[] {
  const filled = argv.map((part) => part.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole))
  const isNamed = needed === undefined || argv.some((part) => part.includes(`{${needed}}`))
  return isNamed ? filled : [...filled, values[needed] ?? '']
}

async function readWritten(folder: string, extension: string): Promise<string | undefined> {
  const name = (await readdir(folder)).find((file) => file.endsWith(extension))
  if (name === undefined) return undefined
  const path = join(folder, name)
  if ((await stat(path)).size > maxTranscriptBytes)
    throw new MediaProviderError('bad-result', 'the program wrote too long a transcript')
  return await readFile(path, 'utf8')
}

/** Undefined for a file that the program has not written. */
async function readSound(path: string): Promise<Buffer | undefined> {
  try {
    if ((await stat(path)).size > maxSoundBytes)
      throw new MediaProviderError('bad-result', 'the program made too large a sound')
    return await readFile(path)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function hashOf(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}

const soundTypes: Readonly<Record<string, string>> = {
  ogg: 'audio/ogg',
  mp3: 'audio/mpeg',
  m4a: 'audio/mp4',
  wav: 'audio/wav',
  flac: 'audio/flac',
  aac: 'audio/aac',
  webm: 'audio/webm',
}

/** A file that was made before, so that it is paid for once. It becomes a new one for the retention. */
async function findMade({ home, clock }: MediaServicesDeps, name: string): Promise<MadeFile | undefined> {
  for (const [extension, mimeType] of Object.entries(soundTypes)) {
    const path = join(dayFolder(home, clock), `${name}.${extension}`)
    try {
      if ((await stat(path)).size === 0) continue
      const now = new Date(clock())
      await utimes(path, now, now)
      return { path, mimeType }
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error
    }
  }
  return undefined
}

async function storeSound(deps: MediaServicesDeps, name: string, bytes: Uint8Array): Promise<MadeFile> {
  if (bytes.length === 0) throw new MediaProviderError('bad-result', 'no sound was made')
  const { mimeType } = await detectFileType(bytes.subarray(0, inspectedBytes), { kind: 'voice' })
  const extension = Object.keys(soundTypes).find((key) => soundTypes[key] === mimeType)
  if (extension === undefined) throw new MediaProviderError('bad-result', `what was made is no sound (${mimeType})`)
  return { path: await store(deps, bytes, `${name}.${extension}`), mimeType }
}

async function storePicture(deps: MediaServicesDeps, bytes: Uint8Array): Promise<MadeFile> {
  const { mimeType, extension } = await detectFileType(bytes.subarray(0, inspectedBytes), { kind: 'photo' })
  if (!mimeType.startsWith('image/'))
    throw new MediaProviderError('bad-result', `what was made is no picture (${mimeType})`)
  const name = `picture-${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}.${extension}`
  return { path: await store(deps, bytes, name), mimeType }
}

async function store({ home, clock }: MediaServicesDeps, bytes: Uint8Array, name: string): Promise<string> {
  const target = await openAtomicFile(dayFolder(home, clock))
  try {
    await target.write(bytes)
    return await target.commit(name)
  } finally {
    await target.discard()
  }
}

function dayFolder({ media }: Pick<HomeLayout, 'media'>, clock: () => number): string {
  return join(media, new Date(clock()).toISOString().slice(0, 10))
}

const downloadTimeouts = { idleTimeoutMs: 30_000, totalTimeoutMs: 120_000 }

/** What a server names is fetched from public addresses alone, and from the server itself. */
async function download(
  url: string,
  trusted: string,
  signal: AbortSignal,
  addresses?: AddressRules,
): Promise<Uint8Array> {
  const { safeFetch } = await import('../../media/safe-fetch.ts')
  const chunks: Uint8Array[] = []
  const onChunk = async (chunk: Uint8Array) => void chunks.push(chunk)
  try {
    const request = { url, trusted: [trusted], maxBytes: maxPictureBytes }
    await safeFetch(request, onChunk, signal, { ...downloadTimeouts, ...addresses })
  } catch (error) {
    if (!(error instanceof DownloadError)) throw error
    throw new MediaProviderError('failed', `the picture could not be fetched: ${error.message}`, { cause: error })
  }
  return Buffer.concat(chunks)
}
