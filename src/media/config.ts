/**
 * The configuration of attachments, of voices and of generated pictures (contract hermes.md §3.8, agent.md S9).
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'

const name = z
  .string()
  .regex(/^[a-z0-9][\w.:-]{0,63}$/i, 'must be a name of letters, digits and the characters . : _ -')
  .default('auto')

const text = z.string().default('')
const address = text.describe('The address of a server that speaks the API of OpenAI, up to and with `/v1`.')
const key = text.describe('The key of that server. Prefer a variable in .env.')

/** A text is split at blanks, with quotes as in a shell; no shell runs it. */
const command = z.union([z.string(), z.array(z.string().min(1).max(2_000)).max(64)]).default('')

export const mediaConfig = {
  media: z
    .object({
      max_mb: z
        .number()
        .positive()
        .default(20)
        .describe('The largest attachment that is downloaded. Platforms have limits of their own.'),
      max_total_mb: z
        .number()
        .positive()
        .default(5_000)
        .describe('When the downloaded files take more, the oldest are removed, except those that are still needed.'),
    })
    .prefault({}),
  stt: z
    .object({
      enabled: z
        .boolean()
        .default(true)
        .describe(
          'Whether voice messages and audio files are transcribed before the turn. Without it, and without a provider, the model gets the path of the file.',
        ),
      provider: name.describe(
        'Who transcribes: openai, groq, mistral, `main` (the server of the model), `local` (the program of `stt.command`) or a name of `providers`. `auto`: the program, or else the first one with a key.',
      ),
      model: text.describe('The model that transcribes. By default the one that is usual at the provider.'),
      base_url: address,
      api_key: key,
      language: z
        .string()
        .regex(/^(?:[a-z]{2,3}(?:-[A-Za-z]{2,4})?)?$/, 'must be a language code such as en or de')
        .default('')
        .describe('The language of the recordings, such as en. By default it is recognised.'),
      command: command.describe(
        'The program that transcribes on this machine, and its arguments: a list, or a text without a shell. `{input_path}`, `{output_dir}`, `{model}` and `{language}` are replaced; without `{input_path}` the path is the last argument. The transcript is what it prints, or the .txt file in `{output_dir}`.',
      ),
      max_mb: z
        .number()
        .positive()
        .max(2_000)
        .default(25)
        .describe('The largest file that is transcribed. OpenAI takes 25.'),
      max_minutes: z.number().positive().default(60).describe('The longest recording that is transcribed.'),
      timeout: z.number().positive().max(7_200).default(300).describe('Seconds for one recording.'),
    })
    .prefault({}),
  stt_echo_transcripts: z
    .boolean()
    .default(false)
    .describe('Whether the chat is shown what was understood of a voice message.'),
  tts: z
    .object({
      provider: name.describe(
        'Who speaks: openai, `main` (the server of the model), `local` (the program of `tts.command`) or a name of `providers`. `auto`: the program, or else OpenAI if there is a key.',
      ),
      model: text.describe('The model that speaks. The default is gpt-4o-mini-tts.'),
      voice: z.string().max(200).default('alloy').describe('The name of the voice.'),
      speed: z.number().min(0.25).max(4).default(1).describe('How fast it speaks; 1 is usual.'),
      base_url: address,
      api_key: key,
      command: command.describe(
        'The program that speaks on this machine, and its arguments: a list, or a text without a shell. `{text_path}`, `{output_path}`, `{voice}` and `{speed}` are replaced; without `{text_path}` it reads the text from its input. The sound is the file `{output_path}`, or what it prints. Ogg with Opus can be played as a voice message everywhere.',
      ),
      max_chars: z
        .int()
        .min(100)
        .max(20_000)
        .default(4_000)
        .describe('The longest text that is spoken. Of a longer one the beginning is; OpenAI takes 4,096.'),
      timeout: z.number().positive().max(600).default(60).describe('Seconds for one text.'),
    })
    .prefault({}),
  voice: z
    .object({
      auto_tts: z
        .boolean()
        .default(false)
        .describe('Whether voice messages are answered with a voice, too. `/voice` decides for one conversation.'),
    })
    .prefault({}),
  image_gen: z
    .object({
      provider: name.describe(
        'Who draws pictures: openai, fal, `main` (the server of the model), `none` or a name of `providers`. `auto`: FAL with a FAL_KEY, or else OpenAI if there is a key. `api_key` is for FAL only where `fal` is named.',
      ),
      model: text.describe('The model that draws. The default is gpt-image-1.5, or fal-ai/flux-2/klein/9b at FAL.'),
      base_url: address,
      api_key: key,
      timeout: z.number().positive().max(900).default(180).describe('Seconds for one picture.'),
    })
    .prefault({}),
} as const

export type MediaConfig = ConfigOf<typeof mediaConfig>
/** The services that transcribe, speak and draw. */
export type MediaToolsConfig = Omit<MediaConfig, 'media'>
