/**
 * Stores the recordings of a request as files, before the message is accepted: no base64 reaches the database. The gateway transcribes
 * them. Loaded with the first recording.
 */
import { type Attachment, isHermesError, type PlatformFiles } from '#sdk'
import { ApiError, invalidParam } from './errors.ts'
import type { Recording } from './read-messages.ts'

/** Throws `ApiError` with the field of the first recording that cannot be used, or `store/full`. */
export async function storeRecordings(
  files: Pick<PlatformFiles, 'store'>,
  recordings: readonly Recording[],
): Promise<readonly Attachment[]> {
  const stored: Attachment[] = []
  for (const recording of recordings) stored.push(await store(files, recording))
  return stored
}

async function store(files: Pick<PlatformFiles, 'store'>, { at, base64 }: Recording): Promise<Attachment> {
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(base64)) throw invalidParam(at, 'expected base64', 'invalid_base64')
  try {
    const file = await files.store(decode(base64), { mimeType: 'audio/mpeg' })
    if (file.kind !== 'audio')
      throw invalidParam(at, `expected a recording, found ${file.mimeType ?? 'unknown content'}`, 'unsupported_audio')
    return { ...file, kind: 'voice' }
  } catch (error) {
    if (!isHermesError(error) || error.code !== 'media/too-large') throw error
    throw new ApiError(400, `${at}: ${error.detail}`, { param: at, code: 'audio_too_large', cause: error })
  }
}

async function* decode(base64: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(base64, 'base64')
}
