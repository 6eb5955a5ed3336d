/**
 * Chooses the channels and threads whose missed messages are fetched.
 */

/** A channel, or a thread in it. */
export interface Conversation {
  readonly channel: string
  /** The `ts` of the first message; absent for the channel itself. */
  readonly threadTs?: string | undefined
}

export interface CatchUpTarget extends Conversation {
  /** The time of the last accepted message, in seconds. Messages after it were missed. */
  readonly since: number
}

export const maxChannels = 100
export const maxThreads = 100

/**
 * Channels, then threads, newest first. A channel continues after the newest of its messages that started a thread: the
 * replies in a thread say nothing about the messages of the channel.
 */
export function catchUpTargetsOf(cursors: ReadonlyMap<string, string>): CatchUpTarget[] {
  const channels = new Map<string, number>()
  const threads: CatchUpTarget[] = []
  for (const [key, id] of cursors) {
    const [channel = '', threadTs] = key.split(':', 2)
    const since = Number(id)
    const inChannel = Number(threadTs ?? id)
    if (channel === '' || !Number.isFinite(since) || !Number.isFinite(inChannel)) continue
    channels.set(channel, Math.max(channels.get(channel) ?? 0, inChannel))
    if (threadTs !== undefined) threads.push({ channel, threadTs, since })
  }
  const newest = (all: CatchUpTarget[]) => all.sort((a, b) => b.since - a.since)
  return [
    ...newest([...channels].map(([channel, since]) => ({ channel, since }))).slice(0, maxChannels),
    ...newest(threads).slice(0, maxThreads),
  ]
}

export function conversationKeyOf({ channel, threadTs = '' }: Conversation): string {
  return `${channel}:${threadTs}`
}
