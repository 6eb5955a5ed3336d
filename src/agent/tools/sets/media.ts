/**
 * The tools that make sound and pictures (contract agent.md S9). They are offered where the configuration names who makes them, and
 * loaded only then.
 */
import { z } from 'zod'
import type { TransactionPart } from '../../../store/query.ts'
import { MediaProviderError } from '../../media/media-provider-error.ts'
import { toSpeech } from '../../media/speech-text.ts'
import { toErrorJson } from '../../support/result-json.ts'
import { defineToolCode, type ToolCaller, type ToolCode, type ToolContext } from '../tool.ts'

export interface MediaMaker {
  /** Whether it can be done here. */
  makes(task: 'tts' | 'image'): Promise<boolean>
  /** The longest text that is spoken, in UTF-16 units. */
  maxSpeechChars(): number
  /** Both resolve with the path of a file; they reject with `MediaProviderError`, or with the reason of the signal. */
  speak(text: string, signal: AbortSignal): Promise<{ readonly path: string }>
  draw(
    request: { readonly prompt: string; readonly shape: 'landscape' | 'square' | 'portrait' },
    signal: AbortSignal,
  ): Promise<{ readonly path: string }>
}

export interface ShowFilePort {
  /** Sends a file that the tool has made to the person who waits for the turn; undefined without one. */
  showFileOf?(call: ToolCaller): ShowFile | undefined
}

export type ShowFile = (file: { readonly path: string; readonly isVoice: boolean }) => Promise<TransactionPart>

export function createMediaTools(maker: MediaMaker, port: ShowFilePort): readonly ToolCode[] {
  return [textToSpeech(maker, port), imageGenerate(maker, port)]
}

function textToSpeech(maker: MediaMaker, port: ShowFilePort): ToolCode {
  return defineToolCode({
    name: 'text_to_speech',
    description: 'Speak a text and send it to the user as a voice message.',
    parameters: z.object({ text: z.string().min(1).max(50_000) }),
    // The same text gives the same file, which is sent together with the result.
    mode: 'idempotent',
    check: () => maker.makes('tts'),
    label: ({ text }) => text,
    async run({ text }, context) {
      const spoken = toSpeech(text, maker.maxSpeechChars())
      if (spoken.text === '') return toErrorJson({ code: 'no_text', reason: 'There is nothing to speak.' })
      const cut = spoken.isCut ? { note: 'The text was too long. Only its beginning is spoken.' } : {}
      return await make(async () => {
        const { path } = await maker.speak(spoken.text, context.signal)
        return { ...(await shown(port, context, path, true)), ...cut }
      })
    },
  })
}

function imageGenerate(maker: MediaMaker, port: ShowFilePort): ToolCode {
  return defineToolCode({
    name: 'image_generate',
    description: 'Draw a picture and show it to the user.',
    parameters: z.object({
      prompt: z.string().trim().min(1).max(10_000),
      aspect_ratio: z.enum(['landscape', 'square', 'portrait']).optional(),
    }),
    // Each picture costs money.
    mode: 'effect',
    check: () => maker.makes('image'),
    label: ({ prompt }) => prompt,
    run: ({ prompt, aspect_ratio: shape = 'landscape' }, context) =>
      make(async () => {
        const { path } = await maker.draw({ prompt, shape }, context.signal)
        return await shown(port, context, path, false)
      }),
  })
}

/** Where no person waits for the file, the caller of the turn decides what happens to it. */
async function shown({ showFileOf }: ShowFilePort, context: ToolContext, path: string, isVoice: boolean) {
  const showFile = showFileOf?.(context)
  if (showFile === undefined || context.loop === undefined)
    return { path, hint: `To send it, write ${isVoice ? '[[audio_as_voice]] ' : ''}MEDIA:${path}` }
  context.loop.writeWithResult(await showFile({ path, isVoice }))
  return { path, shown_to_user: true }
}

async function make(work: () => Promise<object>): Promise<string> {
  try {
    return JSON.stringify({ success: true, ...(await work()) })
  } catch (error) {
    if (!(error instanceof MediaProviderError)) throw error
    return toErrorJson({ code: error.code, reason: error.message })
  }
}
