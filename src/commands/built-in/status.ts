/** `/status`: this conversation and the gateway, in a few lines. */
import type { CommandDefinition, GatewayStatus } from '../command.ts'

export const statusCommand: CommandDefinition = {
  name: 'status',
  aliases: [],
  description: 'Show this conversation and the gateway',
  argsHint: '',
  queue: 'control',
  async run({ sessionKey }, services) {
    const session = await services.sessionStatus(sessionKey)
    const waiting = await services.pendingQuestion(sessionKey)
    const gateway = services.gatewayStatus()
    const platforms = Object.entries(gateway.platforms).map(
      ([name, health]) => `${name} (${formatPlatformState(health)})`,
    )
    const lines = [
      `**Session** \`${session.sessionId ?? 'not begun'}\`${session.title === '' ? '' : ` · ${session.title}`}`,
      `**State** ${session.running ? 'working' : 'idle'}${session.queued > 0 ? `, ${session.queued} waiting` : ''}`,
      ...(waiting === undefined ? [] : [`**Waits for your answer** ${firstLine(waiting.text)}`]),
      `**Messages** ${session.messages} · **tokens** ${session.inputTokens} in, ${session.outputTokens} out`,
      `**Model** ${gateway.model === '' ? gateway.provider : `${gateway.model} (${gateway.provider})`}`,
      `**Platforms** ${platforms.length === 0 ? 'none' : platforms.join(', ')} · **up** ${formatDuration(gateway.uptimeMs)}`,
      ...(gateway.background.length === 0
        ? []
        : [`**Background** ${gateway.background.map(({ id, by }) => `${by} (\`${id}\`)`).join(', ')}`]),
      ...gateway.degraded.map((reason) => `⚠️ ${reason}`),
    ]
    return lines.join('  \n')
  },
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}

/** Only platforms that tell when something came in have a `receiving`. */
function formatPlatformState({ state, receiving }: GatewayStatus['platforms'][string]): string {
  if (state !== 'connected' || receiving === undefined) return state
  return `${state}, ${receiving ? 'receiving' : 'nothing comes in'}`
}

/** `2 d 3 h`, `5 min`, `12 s`. */
function formatDuration(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  const hours = Math.floor(seconds / 3_600)
  return hours < 24
    ? `${hours} h ${Math.floor((seconds % 3_600) / 60)} min`
    : `${Math.floor(hours / 24)} d ${hours % 24} h`
}
