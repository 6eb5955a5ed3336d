/**
 * A gateway with plugins of the user that write down what they see; what they wrote, as data.
 */
import type { TestContext } from 'node:test'
import type { ModelReply } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { pluginFiles, writeFiles } from '../plugins/loader-support.ts'

type Json = Readonly<Record<string, unknown>>

/** @param bodies by plugin: what its `register(ctx)` does. There, `note(name, value)` writes something down. */
export function gatewayWith(
  t: TestContext,
  bodies: Readonly<Record<string, string>>,
  options: TestGatewayOptions & { readonly enabled?: readonly string[]; readonly manifests?: Json } = {},
): Promise<TestGateway> {
  const { enabled = Object.keys(bodies), manifests = {}, ...setup } = options
  const note = `const note = (name, value) => ctx.log.info({ noted: JSON.stringify({ name, value }) }, 'noted ' + name);`
  const files = Object.entries(bodies).map(([id, body]) =>
    pluginFiles(id, `${note} ${body}`, String(manifests[id] ?? '')),
  )
  return startTestGateway(t, {
    ...setup,
    config: { ...setup.config, plugins: { enabled } },
    prepare: (home) => {
      for (const one of files) writeFiles(home.plugins, one)
    },
  })
}

/** What plugins wrote down, in its order. */
export function notesIn({ log }: TestGateway): { readonly name: string; readonly value: unknown }[] {
  return log.flatMap((line) => {
    const { noted }: Json = JSON.parse(line)
    return typeof noted === 'string' ? [JSON.parse(noted)] : []
  })
}

export function calls(...wanted: readonly (readonly [name: string, args: Json])[]): ModelReply {
  return { toolCalls: wanted.map(([name, args]) => ({ name, arguments: args })) }
}
