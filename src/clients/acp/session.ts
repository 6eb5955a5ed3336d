/**
 * One session of an editor: follows its conversation in the gateway, and sends what the person writes.
 */
import type { ContentBlock, PromptResponse, SessionUpdate, StopReason } from '@agentclientprotocol/sdk'
import { messageOf } from '../../lib/errors.ts'
import { withTimeout } from '../../lib/timers.ts'
import type { ToolView } from '../../message/tool-view.ts'
import type { ChatClient, ChatEvent } from '../chat/chat-client.ts'
import { createConversationView, sayWith } from './conversation-view.ts'
import type { Editor } from './editor.ts'
import type { AcpMode } from './modes.ts'
import { readPrompt } from './prompt-content.ts'
import { createSessionQuestions } from './questions.ts'
import { AnswerFailed, invalidParams, isCancelRequest } from './request-errors.ts'
import { createToolCalls } from './tool-calls.ts'

type TurnResult = Awaited<ReturnType<ChatClient['waitForResult']>>

export interface AcpSessionOptions {
  readonly id: string
  /** The folder of the project, absolute. */
  readonly cwd: string
  readonly client: ChatClient
  readonly editor: Editor
  /**
   * Shows the stored messages and resolves with the texts of the agent. Called when the conversation is followed, so that nothing
   * falls between; what comes meanwhile is shown afterwards.
   */
  readonly replay?: (() => Promise<readonly string[]>) | undefined
  /** Undefined for a call that is not stored yet. */
  view(turnId: string, callId: string): Promise<ToolView | undefined>
  warn(text: string): void
}

export interface AcpSession {
  readonly id: string
  readonly cwd: string
  /** Rejects when the gateway cannot be followed. */
  ready(): Promise<void>
  /** Rejects with a `RequestError`, or an error of the gateway. */
  prompt(blocks: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse>
  /** Stops what runs. Nothing happens when nothing runs. */
  cancel(): Promise<void>
  /** The session is left: what runs goes on in the gateway. */
  close(): void
}

/** A session and what the editor shows of it. */
export interface OpenSession {
  readonly session: AcpSession
  /** The MCP servers of the editor, in the form of the configuration. */
  readonly servers: Readonly<Record<string, unknown>>
  mode: AcpMode
  title: string
}

/** A prompt without its result. */
interface RunningPrompt {
  seq?: number
  isCancelled: boolean
  /** What the person was shown since it was sent. */
  readonly texts: string[]
  /** Notices of turns: that of a failed turn is its result. */
  readonly notices: string[]
}

/** The answer is shown when the stream has it; after this time the result is shown instead. */
const streamGraceMs = 1_500
/** How long a cancel may take to reach the gateway. */
const stopTimeoutMs = 5_000

export function createAcpSession(options: AcpSessionOptions): AcpSession {
  const { id, cwd, client, editor, view, warn } = options
  const closed = new AbortController()
  const running = new Set<RunningPrompt>()
  const ready = Promise.withResolvers<void>()
  /** Resolves with the next event of the gateway. */
  let nextEvent = Promise.withResolvers<void>()
  const update = (change: SessionUpdate) => (closed.signal.aborted ? Promise.resolve() : editor.update(id, change))
  const say = (words: string) => sayWith(update, words)
  const calls = createToolCalls({ cwd, abilities: editor.abilities, update, view, warn })
  const conversation = createConversationView({
    showsNotices: editor.abilities.notices,
    calls,
    questions: createSessionQuestions({ sessionId: id, cwd, client, editor, signal: closed.signal, update, say }),
    update,
    shown(words) {
      for (const { texts } of running) texts.push(words)
    },
    holds(words, turnId) {
      const [first] = running
      if (turnId !== undefined) first?.notices.push(words)
      return turnId !== undefined && first !== undefined
    },
    warn,
  })
  ready.promise.catch(() => undefined)
  void follow()

  return {
    id,
    cwd,
    ready: () => ready.promise,
    prompt,
    async cancel() {
      await Promise.all([...running].map(stop))
    },
    close() {
      closed.abort()
      ready.reject(new Error('The session is closed.'))
    },
  }

  async function follow(): Promise<void> {
    try {
      let early: ChatEvent[] | undefined = []
      for await (const event of client.events(closed.signal)) {
        if (early !== undefined && event.type !== 'ready') {
          early.push(event)
          continue
        }
        await conversation.show(event)
        if (early !== undefined) conversation.replayed((await options.replay?.()) ?? [])
        for (const event of early ?? []) await conversation.show(event)
        early = undefined
        ready.resolve()
        nextEvent.resolve()
        nextEvent = Promise.withResolvers()
      }
    } catch (error) {
      ready.reject(error)
      if (!closed.signal.aborted) warn(`the conversation ${id} cannot be followed: ${messageOf(error)}`)
    }
  }

  async function prompt(blocks: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse> {
    const { text: words, pictures } = readPrompt(blocks)
    if (words.trim() === '') throw invalidParams('The prompt is empty.')
    const run: RunningPrompt = { isCancelled: false, texts: [], notices: [] }
    const until = closed.signal
    // The signal of an editor that has gone aborts, too: its turn is not its to stop.
    const onAbort = () => {
      if (isCancelRequest(signal.reason)) void stop(run)
    }
    running.add(run)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await ready.promise
      const files: string[] = []
      for (const { name, content } of pictures) {
        const { id: file, problem } = await client.upload(name, content, until)
        if (problem !== undefined) throw invalidParams(`The picture ${name} cannot be used: ${problem}.`)
        files.push(file)
      }
      if (run.isCancelled) return { stopReason: 'cancelled' }
      run.seq = await client.send(words, until, false, files)
      // The cancel may have come before the message was accepted.
      if (run.isCancelled) await stop(run)
      const result = await client.waitForResult(run.seq, until)
      return await finish(run, result)
    } catch (error) {
      if (closed.signal.aborted) return { stopReason: 'cancelled' }
      throw error
    } finally {
      signal.removeEventListener('abort', onAbort)
      running.delete(run)
    }
  }

  async function finish(run: RunningPrompt, result: TurnResult): Promise<PromptResponse> {
    const isFailure = result.status === 'failed' && !run.isCancelled
    if (result.status === 'done') await showAnswer(run, result.text)
    if (!isFailure && result.status !== 'stopped')
      for (const words of run.notices) if (words !== result.text) await conversation.notice(words)
    if (running.size <= 1) await calls.endOpen()
    await calls.settled()
    if (isFailure && result.errorCode !== 'agent/max-iterations') throw new AnswerFailed(result.text, result.errorCode)
    return { stopReason: run.isCancelled ? 'cancelled' : stopReasonOf(result) }
  }

  /** Waits until the stream has shown the answer. */
  async function showAnswer(run: RunningPrompt, answer: string): Promise<void> {
    const wanted = answer.trim()
    const isShown = () => [...run.texts, ...run.notices].some((shown) => shown.includes(wanted))
    const deadline = Date.now() + streamGraceMs
    while (wanted !== '' && !isShown() && Date.now() < deadline)
      await withTimeout(nextEvent.promise, deadline - Date.now(), closed.signal)
    if (wanted !== '' && run.texts.length === 0 && run.notices.length === 0) await say(answer)
  }

  async function stop(run: RunningPrompt): Promise<void> {
    run.isCancelled = true
    if (run.seq === undefined) return
    try {
      await client.stop(run.seq, AbortSignal.timeout(stopTimeoutMs))
    } catch (error) {
      warn(`a turn could not be stopped: ${messageOf(error)}`)
    }
  }
}

function stopReasonOf({ status, cutOff }: TurnResult): StopReason {
  if (status === 'stopped' || status === 'interrupted') return 'cancelled'
  if (status === 'failed') return 'max_turn_requests'
  if (cutOff === 'content_filter') return 'refusal'
  return cutOff === 'length' ? 'max_tokens' : 'end_turn'
}
