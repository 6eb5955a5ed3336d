/**
 * Tells the owner when the agent takes more than ten steps.
 */
import type { HookEvents } from '#sdk'

const threshold = 10
const { TELEGRAM_BOT_TOKEN: token, TELEGRAM_HOME_CHANNEL: chat } = process.env

export async function handle(_event: string, { iteration, tool_names }: HookEvents['agent:step']): Promise<void> {
  if (iteration !== threshold || !token || !chat) return
  const text = `⚠️ Agent has been running for ${iteration} steps. Last tools: ${tool_names.join(', ')}`
  await fetch(`https://api.telegram.org/bot${token}/sendMessage`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ chat_id: chat, text }),
  })
}
