/**
 * `hermes hooks new`: creates a hook from a working template.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HermesError } from '../lib/errors.ts'
import { ensureDirectory } from '../lib/files.ts'
import type { CliContext } from './kit/context.ts'
import { assertHomeUsable } from './kit/settings.ts'
import { writeTypescriptConfig } from './kit/typescript-config.ts'

/** Throws `cli/usage` for an invalid or existing name. */
export async function hooksNew(
  context: CliContext,
  name: string,
  { python }: { readonly python: boolean },
): Promise<void> {
  assertHomeUsable(context)
  const { hooks } = context.home
  const folder = join(hooks, name)
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) {
    throw new HermesError('cli/usage', `Expected a name of letters, digits, - and _, found ${JSON.stringify(name)}.`)
  }
  if (existsSync(folder)) throw new HermesError('cli/usage', `${folder} already exists.`)
  ensureDirectory(hooks)
  ensureDirectory(folder)
  const file = join(folder, python ? 'handler.py' : 'handler.ts')
  writeFileSync(file, python ? pythonHandler : typescriptHandler, { mode: 0o600 })
  if (!python) writeTypescriptConfig(context.home)
  // Written last, because the manifest makes the directory a hook.
  writeFileSync(join(folder, 'HOOK.yaml'), manifest(name), { mode: 0o600 })
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
