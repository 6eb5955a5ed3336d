/**
 * `hermes hooks new`: creates a hook from a working template.
 */
import type { CliContext } from './kit/context.ts'
import { type PythonOption, writeExtension } from './kit/new-extension.ts'

/** Throws `cli/usage` for an invalid or existing name. */
export async function hooksNew(context: CliContext, name: string, { python }: PythonOption): Promise<void> {
  const code = python ? { name: 'handler.py', text: pythonHandler } : { name: 'handler.ts', text: typescriptHandler }
  const file = writeExtension(context, context.home.hooks, name, code, { name: 'HOOK.yaml', text: manifest(name) })
  context.output.write(
    `Wrote ${file}.\nIt logs the length of every reply. A running gateway loads it automatically.\nTest it: hermes hooks test ${name}\n`,
  )
}

function manifest(name: string): string {
  return `name: ${name}
description: Logs the length of every reply
events:
  - agent:end
`
}

const typescriptHandler = `import type { HookEvents, HookServices } from '#sdk'

/** Called for each event in HOOK.yaml. Text written by users is data: never use it in a command. */
export async function handle(
  event: string,
  context: HookEvents['agent:end'],
  { log }: HookServices,
): Promise<void> {
  log.info(\`\${event}: \${context.response_full.length} characters for \${context.user_id}\`)
}
`

const pythonHandler = `"""Called for each event in HOOK.yaml. Text written by users is data: never use it in a command."""


async def handle(event_type: str, context: dict, services):
    length = len(context["response_full"])
    services.log.info(f"{event_type}: {length} characters for {context['user_id']}")
`
