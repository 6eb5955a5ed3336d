/**
 * Says who hears and speaks, for `/voice`. Loaded with the first one.
 */
import type { Voices } from '../../commands/choices.ts'
import type { MediaToolsConfig } from '../../media/config.ts'
import type { MediaServices } from './media-services.ts'

export async function describeVoices(
  media: Pick<MediaServices, 'endpoint'>,
  { stt, voice }: Pick<MediaToolsConfig, 'stt' | 'voice'>,
  sendsVoices: boolean,
): Promise<Voices> {
  const [hearing, speech] = await Promise.all([media.endpoint('stt'), media.endpoint('tts')])
  const problemOf = (endpoint: typeof hearing) => (endpoint.kind === 'none' ? endpoint.problem : '')
  return {
    isDefault: voice.auto_tts,
    listens: stt.enabled ? problemOf(hearing) : '`stt.enabled` is false',
    speaks: problemOf(speech),
    sendsVoices,
  }
}
