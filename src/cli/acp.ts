/**
 * `hermes acp`: serves an editor over standard input and output, until the editor closes the input.
 */
import { ndJsonStream } from '@agentclientprotocol/sdk'
import { createAcpAgent } from '../clients/acp/agent.ts'
import { maxFrameBytes, takeStandardStreams } from '../clients/acp/stdio.ts'
import { describeError } from '../lib/describe-error.ts'
import { onAbort } from '../lib/timers.ts'
import type { CliContext } from './kit/context.ts'

export interface AcpOptions {
  /** Only loads what an editor needs, and says so. */
  readonly check?: boolean
}

export async function acp(context: CliContext, { check = false }: AcpOptions): Promise<void> {
  const { input, output, errors, version } = context
  if (check) {
    output.write(`hermes acp ${version}: ready for an editor\n`)
    return
  }
  if (input.isTTY === true)
    errors.write('hermes acp talks to an editor over its input and output. In a terminal, use hermes chat.\n')
  const warn = (text: string) => void errors.write(`hermes: ${text}\n`)
  const frames = takeStandardStreams({ input, output, errors })
  const agent = createAcpAgent({
    version,
    fetch,
    warn,
    async openGateway() {
      const { openEndpoint } = await import('./kit/endpoint.ts')
      try {
        return await openEndpoint(context, { platform: 'acp' })
      } catch (error) {
        warn(describeError(error))
        throw error
      }
    },
  })
  const stopped = new AbortController()
  const stop = () => stopped.abort()
  for (const name of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.once(name, stop)
  try {
    const connection = agent.app.connect(
      // What is longer was replaced.
      ndJsonStream(frames.output, frames.input, { maxMessageBytes: 2 * maxFrameBytes }),
    )
    onAbort(stopped.signal, () => connection.close())
    await connection.closed
    await agent.close()
  } finally {
    for (const name of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.off(name, stop)
    frames.restore()
  }
  // A plugin may have left handles open, and the input may stay open after a signal.
  context.exitsAfterCommand = true
}
