/**
 * The table of errors, from the catalogue.
 */
import { statusOf } from '../../../src/http/json-response.ts'
import { type CatalogueEntry, type ErrorCode, errorCatalogue } from '../../../src/lib/error-catalogue.ts'
import { table } from './table.ts'

/** What the first word of a code speaks of. Every word needs a line here: the types see to it. */
const areas: Readonly<Record<AreaOf<ErrorCode>, string>> = {
  config: 'The configuration',
  home: 'The home directory',
  store: 'The database',
  http: 'HTTP',
  inbox: 'Messages that come in',
  platform: 'Platforms',
  provider: 'The model provider',
  agent: 'The agent and its tools',
  terminal: 'Commands the agent runs',
  hosts: 'Handlers: hooks and Python plugins',
  hooks: 'Hooks and what they ask for',
  plugins: 'Plugins and what they register',
  middleware: 'Managed calls and what is put around them',
  outbox: 'Replies that go out',
  cli: 'The command line',
}

type AreaOf<Code extends string> = Code extends `${infer Area}/${string}` ? Area : never

export function errors(): string {
  const all: [string, CatalogueEntry, number][] = codes().map((code) => [code, errorCatalogue[code], statusOf(code)])
  return Object.entries(areas)
    .map(([area, title]) => {
      const own = all.filter(([code]) => code.startsWith(`${area}/`))
      const rows = own.map(([code, { meaning, hint, formerCode }, status]) => [
        formerCode === undefined ? `\`${code}\`` : `\`${code}\` (formerly \`${formerCode}\`)`,
        meaning,
        hint,
        status === 500 ? '' : String(status),
      ])
      return `## ${title}\n\n${table(['Code', 'What happened', 'What to do', 'HTTP'], rows)}`
    })
    .join('\n\n')
}

function codes(): ErrorCode[] {
  const isCode = (name: string): name is ErrorCode => Object.hasOwn(errorCatalogue, name)
  return Object.keys(errorCatalogue).filter(isCode)
}
