/**
 * `hermes prompt show`: what a new conversation would be given, layer by layer.
 */
import type { z } from 'zod'
import { callRoute, type RouteAccess } from '../api/client.ts'
import { showPrompt } from '../api/routes/extensions.ts'
import { toSingleLine, toVisibleLines } from '../lib/visible-text.ts'
import type { CliContext } from './kit/context.ts'
import { findRunningDaemon, warnVersionMismatch } from './kit/daemon.ts'
import { createDisplay, type Display } from './kit/display.ts'
import { startEmbeddedGateway } from './kit/embedded-gateway.ts'
import { readSettings } from './kit/settings.ts'
import { assertPlatformExists } from './shared/known-toolsets.ts'

type Preview = z.output<typeof showPrompt.response>

/** Throws `cli/not-found` for a platform that does not exist, and the errors of a start without a running gateway. */
export async function promptShow(
  context: CliContext,
  { platform, json }: { readonly platform: string; readonly json: boolean },
): Promise<void> {
  const preview = await readPreview(context, platform)
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(preview)
  printPreview(display, preview)
}

async function readPreview(context: CliContext, platform: string): Promise<Preview> {
  const settings = await readSettings(context)
  assertPlatformExists(platform, settings)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token })
  if (daemon !== undefined) {
    warnVersionMismatch(context, daemon)
    return await fetchPreview(daemon, platform)
  }
  const gateway = await startEmbeddedGateway(context, 'cli')
  try {
    for (const { id, state, reason } of gateway.plugins)
      context.errors.write(`hermes: ${toSingleLine(`plugin ${id} (${state}): ${reason}`)}\n`)
    return await fetchPreview(gateway, platform)
  } finally {
    await gateway.close()
  }
}

/** The tools may have to be loaded first. */
const timeoutMs = 60_000

async function fetchPreview(gateway: RouteAccess, platform: string): Promise<Preview> {
  const { url, token } = gateway
  const input = { query: { platform }, signal: AbortSignal.timeout(timeoutMs) }
  return await callRoute({ url, token }, showPrompt, input)
}

function printPreview(display: Display, { layers, prompt, ephemeral, tools }: Preview): void {
  const added =
    ephemeral === undefined || ephemeral.text === '' ? [] : [{ name: 'at each call, stored nowhere', ...ephemeral }]
  for (const { name, text, ...size } of [...layers, ...added]) {
    display.line(display.tone('strong', `── ${toSingleLine(name)}: ${describeSize(size)}`))
    for (const line of toVisibleLines(text)) display.line(line)
    display.line()
  }
  const toolSize = {
    bytes: tools.reduce((sum, { bytes }) => sum + bytes, 0),
    tokens: tools.reduce((sum, { tokens }) => sum + tokens, 0),
  }
  display.line(display.tone('strong', `── ${tools.length} tools: ${describeSize(toolSize)}`))
  display.line(toSingleLine(tools.map(({ name }) => name).join(', ')))
  display.line()
  display.line(`The system prompt has ${describeSize(prompt)}.`)
}

function describeSize({ bytes, tokens }: { readonly bytes: number; readonly tokens: number }): string {
  return `${bytes} bytes, about ${tokens} tokens`
}
