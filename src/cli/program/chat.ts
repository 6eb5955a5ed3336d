/**
 * Defines the commands that talk to the agent and send messages.
 */
import type { ChatOptions } from '../chat.ts'
import { type Commands, json, parseCount } from './options.ts'

export function addChatCommands(root: Commands): void {
  root.command.commandsGroup('Talk to the agent:')
  root.command
    .command('chat')
    .description('hold a conversation in the terminal, or ask one question')
    .option(
      '-q, --query [text]',
      'ask one question, print only the answer, and exit; without a text, or with -, the question is read from stdin',
    )
    .option('--tui', 'open the terminal interface: conversations to switch between, dialogs, completion')
    .option('-c, --continue [name]', 'continue the last conversation of the terminal, or one by its title or name')
    .option('-r, --resume <conversation>', 'continue a conversation of the terminal by its id, title or name')
    .option('--session <name>', 'continue or start the conversation with this name')
    .option('-t, --toolsets <names>', 'offer a new conversation only these toolsets, separated by commas')
    .option('--checkpoints', 'keep the files that the agent changes, so that /rollback can restore them')
    .option(
      '--image <path>',
      'show a picture to the agent with the first message; repeat it for several pictures',
      (path: string, paths: readonly string[] = []) => [...paths, path],
    )
    .option('--json', 'print JSON lines; with --query, one JSON object')
    .action(async ({ tui, ...options }: ChatOptions & { readonly tui?: true }) => {
      if (tui === true) await (await import('../tui.ts')).openTui(root.context, options)
      else await (await import('../chat.ts')).chat(root.context, options)
    })
  root
    .add(() => import('../acp.ts'), 'acp', 'acp', 'serve a code editor (Agent Client Protocol)')
    .description(
      'Serves an editor such as Zed, which starts this command: it speaks the Agent Client Protocol over its input and output. It uses the running gateway, or one of its own while none runs. What it has to report goes to stderr.',
    )
    .option('--check', 'only try whether the command can start', false)
  root
    .add(() => import('../send.ts'), 'send <target> [text...]', 'send', 'send a message to a chat, for scripts')
    .description(
      'Sends a message through the running gateway and waits for the platform. Targets: `<platform>` for its home channel, `<platform>:<chat_id>[:<thread_id>]`, `<platform>:#<channel>`, `local` for a file of the home; several with commas. Without a text, or with -, the message is read from stdin. Exit code 0 when it was sent, 1 when it was refused or skipped, 75 when it is stored but not confirmed yet.',
    )
    .option('-f, --file <path>', 'read the text from a file')
    .option('-m, --media <path...>', 'attach files', [])
    .option('--timeout <seconds>', 'how long to wait for the platform', parseCount('--timeout', 120, 0), 30)
    .option('--force', 'try a chat again that took no messages the last time', false)
    .option(...json)
  const web = root.group('web', 'the web page').from(() => import('../web-url.ts'))
  web.add('url', 'webUrl', 'print the address of the web page, including the access token')
}
