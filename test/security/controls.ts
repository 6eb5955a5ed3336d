/**
 * The security controls of the gateway with the tests that prove them. Every count comes from the data of the tests: the length of a
 * table, or the number of tests in a file.
 */
import { destructive, secretReads } from '../agent/sandbox/attacks.ts'
import { attempts } from '../approvals/attempts.ts'
import { textOf } from '../docs/repository.ts'
import { actions, chatPlatforms, people, places } from '../flows/authorization-cases.ts'
import { injections } from '../flows/injection-cases.ts'
import { refusedHosts, refusedOrigins, refusedTokens } from '../http/refused-requests.ts'
import { forbiddenUrls } from '../kit/forbidden-addresses.ts'
import { closedAddresses, loopbackHosts } from '../media/closed-addresses.ts'
import { hostileNames } from '../media/hostile-names.ts'
import { forgeries, hiddenCharacters, hostileNames as hostileTexts } from '../message/hostile-texts.ts'
import { slackForgeries } from '../platforms/slack/connection/forgeries.ts'
import { telegramForgeries } from '../platforms/telegram/connection/forgeries.ts'
import { sessionKeyCases } from '../sessions/session-key-cases.ts'
import { canaries } from './canaries.ts'
import { servedAddresses } from './endpoints.ts'

/** Cases of one kind. */
export interface Proof {
  readonly what: string
  readonly count: number
  /** The fewest cases that are enough. */
  readonly atLeast: number
  /** The tests that run them. */
  readonly files: readonly string[]
}

export interface Control {
  readonly id: string
  readonly promise: string
  readonly proofs: readonly Proof[]
}

const testCall = /^\s*(?:await t\.)?(?:test|it)\(/

/** The tests of some files, or those whose first line contains `word`. A test that is a template counts as one. */
function testsOf(what: string, atLeast: number, file: string | readonly string[], word = ''): Proof {
  const files = typeof file === 'string' ? [file] : file
  const lines = files.flatMap((path) => textOf(path).split('\n'))
  return { what, count: lines.filter((line) => testCall.test(line) && line.includes(word)).length, atLeast, files }
}

/** The rows of a table. */
function casesOf(what: string, atLeast: number, rows: Iterable<unknown>, ...files: readonly string[]): Proof {
  return { what, count: new Set(rows).size, atLeast, files }
}

const cells = chatPlatforms.flatMap((platform) =>
  places.flatMap((place) =>
    people.flatMap((person) => actions.map((action) => [platform, place, person, action].join())),
  ),
)

export const controls: readonly Control[] = [
  {
    id: 'S1',
    promise:
      'A call of a webhook is accepted only with the secret of Telegram, or with the signature of Slack for this body and these five minutes. Discord has no webhook: the gateway connects to it.',
    proofs: [
      casesOf(
        'forged calls of Telegram',
        30,
        telegramForgeries.map(({ name }) => name),
        'test/platforms/telegram/connection/webhook.test.ts',
      ),
      casesOf(
        'forged requests of Slack',
        30,
        Object.keys(slackForgeries),
        'test/platforms/slack/connection/webhook.test.ts',
      ),
    ],
  },
  {
    id: 'S2',
    promise:
      'No user has access by default, and a person causes only what the role permits, whatever the model decides.',
    proofs: [
      casesOf('cells: platform × place × person × action', 60, cells, 'test/flows/authorization-matrix.test.ts'),
      testsOf('tests of the rules of access', 7, 'test/inbox/access.test.ts'),
      testsOf('attacks on pairing: codes, clocks, limits, files', 20, 'test/pairing/pairing.test.ts'),
      testsOf('tests of strangers, codes and floods', 6, 'test/stories/people-pair.test.ts'),
    ],
  },
  {
    id: 'S3',
    promise:
      'An approval counts once, for the call, arguments and place that were shown, from a person who may give it, before it expires, and across a restart at most once.',
    proofs: [
      casesOf(
        'attempts: replayed, forged, stale, by others, in every mode',
        25,
        attempts.map(({ name }) => name),
        'test/approvals/cases.test.ts',
      ),
      testsOf('tests of changed arguments, ended turns, order and grants', 10, 'test/approvals/cases.test.ts'),
      testsOf('tests that kill the gateway in the states of an approval', 1, 'test/crash/approval.full.test.ts'),
    ],
  },
  {
    id: 'S4',
    promise:
      'Only addresses of the internet are fetched: a name is resolved once, each redirect is checked, and credentials stay with the first origin.',
    proofs: [
      casesOf('addresses that are not public', 40, closedAddresses, 'test/media/public-address.test.ts'),
      casesOf('notations of loopback in a URL', 12, loopbackHosts, 'test/media/safe-fetch.test.ts'),
      testsOf('tests of redirects, rebinding and limits', 15, 'test/media/safe-fetch.test.ts'),
      casesOf(
        'addresses, through each tool that fetches',
        100,
        forbiddenUrls(80),
        'test/security/forbidden-addresses.test.ts',
      ),
      testsOf('tests of what an MCP server names', 6, 'test/flows/mcp/guarded-fetch.test.ts'),
    ],
  },
  {
    id: 'S5',
    promise:
      'Names from outside never become paths. Links are resolved before a decision, and the file that was checked is the one that is read or sent.',
    proofs: [
      casesOf('hostile file names', 40, hostileNames, 'test/media/hostile-names.test.ts'),
      testsOf('tests of guarded paths and links', 8, 'test/agent/command-policy/file-guard.test.ts'),
      testsOf('tests of files that are sent', 10, 'test/outbox/attachments.test.ts'),
    ],
  },
  {
    id: 'S6',
    promise: 'No value of `.env`, key or token appears in the log, in an error, in the status or in a chat.',
    proofs: [
      casesOf(
        'canaries, each through every error path',
        20,
        canaries.map(({ value }) => value),
        'test/security/error-paths.test.ts',
      ),
      testsOf('tests of configurations with secrets', 8, 'test/config/secrets.test.ts'),
      testsOf('tests of the forms of secrets', 10, 'test/lib/redact.test.ts'),
    ],
  },
  {
    id: 'S7',
    promise:
      'Files are private to the user of the gateway (0600, directories 0700) under any umask, and wider ones are narrowed.',
    proofs: [
      testsOf('walk through all files of a gateway under umask 000', 1, 'test/security/error-paths.test.ts', 'private'),
      testsOf('walks through what commands, tools and the compile cache create', 3, 'test/security/file-modes.test.ts'),
      testsOf('tests of the token', 7, 'test/http/gateway-token.test.ts'),
      testsOf('tests of files and the home', 8, 'test/lib/files.test.ts'),
      testsOf('tests of the compile cache', 5, 'test/config/runtime-setup.test.ts'),
    ],
  },
  {
    id: 'S8',
    promise:
      'The HTTP server needs the token for each request, also on loopback, accepts only its own Host and Origin, and trusts no forwarded header. A replaced token is invalid at once.',
    proofs: [
      casesOf(
        'requests without the token in its header',
        10,
        refusedTokens.map(([name]) => name),
        'test/http/access.test.ts',
      ),
      casesOf('foreign hosts', 10, refusedHosts, 'test/http/access.test.ts'),
      casesOf('foreign origins', 5, refusedOrigins, 'test/http/access.test.ts'),
      testsOf('tests of rotation, forwarded headers, allowed hosts and origins', 10, 'test/http/access.test.ts'),
    ],
  },
  {
    id: 'S9',
    promise: 'The container runs without root, capabilities and a writable root, with limits on memory and processes.',
    proofs: [testsOf('tests of the image and of compose', 10, 'test/container.test.ts')],
  },
  {
    id: 'S10',
    promise:
      'A model that obeys every injection causes nothing that the role forbids: the policy refuses the call. What runs is bound by the sandbox.',
    proofs: [
      casesOf(
        'injections, each as guest and as member in a group',
        50,
        injections.map(({ mark }) => mark),
        'test/flows/injections.test.ts',
      ),
      casesOf(
        'texts and names that imitate a line of the gateway, or hide something',
        50,
        [...Object.keys(forgeries), ...Object.keys(hiddenCharacters), ...Object.keys(hostileTexts)],
        'test/message/untrusted-text.test.ts',
      ),
      casesOf(
        'disguised destructive commands, run in the sandbox',
        170,
        destructive,
        'test/agent/sandbox/attacks.test.ts',
      ),
      casesOf('ways to a secret, run in the sandbox', 70, secretReads, 'test/agent/sandbox/attacks.test.ts'),
      testsOf('tests of ways out of the sandbox', 4, 'test/agent/sandbox/escape.test.ts'),
    ],
  },
  {
    id: 'S11',
    promise:
      'What the gateway sends notifies no user unasked, shows no link previews in notices, and is escaped for its platform.',
    proofs: [
      testsOf('tests of messages of Discord', 12, 'test/platforms/discord/outbound/render.test.ts'),
      testsOf('tests of messages of Slack', 5, [
        'test/platforms/slack/outbound/escape.test.ts',
        'test/platforms/slack/outbound/render.test.ts',
      ]),
      testsOf('tests of messages of Telegram', 10, 'test/platforms/telegram/outbound/render.test.ts'),
      testsOf('tests of texts for terminals and the log', 15, 'test/lib/log-writer.test.ts'),
    ],
  },
  {
    id: 'S12',
    promise:
      'Size, rate, steps, cost, time and sub-agents have limits, a turn that repeats itself ends, and `/pause` stops everything.',
    proofs: [
      testsOf('tests of steps, tokens and repetitions', 15, 'test/agent/loop/loop.test.ts'),
      testsOf('tests of sub-agents', 8, 'test/agent/loop/subagents.test.ts'),
      testsOf('tests of cost', 15, 'test/plugins/bundled/cost-budget.test.ts'),
      testsOf('tests of requests', 20, 'test/http/server.test.ts'),
      testsOf('tests of the pause', 3, 'test/stories/the-agent-is-paused.test.ts'),
    ],
  },
  {
    id: 'S13',
    promise:
      'Extensions that others could write are refused with the remedy, a changed program must be accepted again, and processes of extensions get declared secrets only and open no debugger.',
    proofs: [
      testsOf('tests of the discovery of extensions', 15, [
        'test/hooks/discovery.test.ts',
        'test/plugins/discovery.test.ts',
      ]),
      testsOf('tests of consent and of programs', 9, [
        'test/hooks/attack-consent.test.ts',
        'test/hooks/attack-programs.test.ts',
      ]),
      testsOf('tests of the environment of extensions', 2, 'test/hooks/environment.test.ts'),
      testsOf('tests of the debugger', 2, 'test/hosts/debugger-signal.test.ts'),
    ],
  },
  {
    id: 'S14',
    promise: 'No user reads the conversation of another person, and memory is scoped to its user.',
    proofs: [
      casesOf(
        'keys of sessions',
        15,
        sessionKeyCases.map(({ promise }) => promise),
        'test/sessions/session-key.test.ts',
      ),
      testsOf('tests of memory', 8, 'test/plugins/plugin-memory.test.ts'),
      testsOf(
        'tests of guests and the memory of the agent',
        3,
        [
          'test/agent/memory/memory-tool.test.ts',
          'test/agent/memory/memory-prompt.test.ts',
          'test/stories/the-agent-remembers.test.ts',
        ],
        'guest',
      ),
      testsOf('tests of earlier conversations', 1, 'test/stories/earlier-conversations.test.ts', 'another person'),
    ],
  },
  {
    id: 'S15',
    promise:
      'Versions are exact and have checksums, no script of a package runs unnamed, the base image is pinned, and the parts are listed.',
    proofs: [
      testsOf(
        'tests of the lock file, the workflow, the image and the list of parts',
        5,
        'test/security/supply-chain.test.ts',
      ),
    ],
  },
  {
    id: 'S16',
    promise: 'Every address for programs and other agents needs the token.',
    proofs: [
      casesOf(
        'addresses, each with GET and POST and three wrong credentials',
        10,
        servedAddresses(),
        'test/security/endpoints.test.ts',
      ),
    ],
  },
]

/** Controls that are not proven as they should be: too few cases, or a file that does not exist. */
export function unproven(list: readonly Control[], exists: (file: string) => boolean): string[] {
  return list.flatMap(({ id, proofs }) =>
    proofs.flatMap(({ what, count, atLeast, files }) => [
      ...(count < atLeast ? [`${id}: ${what}: ${count} of ${atLeast}`] : []),
      ...files.filter((file) => !exists(file)).map((file) => `${id}: no file ${file}`),
    ]),
  )
}
