/**
 * What a person can do with a message. Loaded when the menu of a message is opened.
 */
import { addressOfChat } from '../address.js'
import { branchFrom, sendInBranch, subjectOf } from '../branch.js'
import { toClipboard } from './copy-button.js'
import { openMenu } from './menu.js'

/** @typedef {import('../branch.js').MessageItem} MessageItem */
/**
 * What a chat can do that a stored conversation cannot.
 *
 * @typedef {object} WritingActions
 * @property {() => void} again lets the agent answer the last message again
 * @property {(text: string) => void} quote
 * @property {(text: string, send: (text: string, files: readonly import('../uploads.js').LocalFile[]) => Promise<boolean>) => void} edit
 * @property {(files: readonly File[]) => Promise<void>} attach
 */
/**
 * @typedef {object} MessageMenuOptions
 * @property {import('../api.js').Api} api
 * @property {import('../files.js').Files} files
 * @property {import('../storage.js').Store} storage
 * @property {ReturnType<typeof import('./attempts.js').createAttempts>} attempt
 * @property {WritingActions | undefined} writing
 */

/** @param {MessageMenuOptions} options @param {MessageItem} item @param {HTMLElement} button */
export async function showMessageMenu({ api, files, storage, attempt, writing }, item, button) {
  const isLast = button.closest('.entry')?.classList.contains('last') === true
  const isOwn = item.kind === 'user'
  const isCommand = isOwn && item.text.startsWith('/')
  const isStored = item.entryId !== undefined
  const quoted = selectedIn(button.closest('.entry')) || item.text
  /** @type {(import('./menu.js').MenuEntry | false)[]} */
  const entries = [
    writing !== undefined && isOwn && isStored && !isCommand && { label: 'Edit', icon: 'pen', act: edit },
    writing !== undefined && isLast && isStored && { label: 'Answer again', icon: 'again', act: writing.again },
    isOwn && item.text !== '' && { label: 'Copy', icon: 'copy', act: () => toClipboard(item.text) },
    writing !== undefined && item.text !== '' && { label: 'Quote', icon: 'quote', act: () => writing.quote(quoted) },
    isStored && !isCommand && { label: 'Branch from here', icon: 'branch', act: branch },
    isStored && { label: 'Follow this message', icon: 'route', href: addressOfTrace() },
  ]
  await openMenu(
    button,
    entries.filter((entry) => entry !== false),
  )

  function addressOfTrace() {
    return `/?${new URLSearchParams({ trace: subjectOf(item) })}`
  }

  function branch() {
    return attempt(
      async () => location.assign(addressOfChat(await branchFrom(api, item, 'through'))),
      'The branch could not begin.',
    )
  }

  async function edit() {
    writing?.edit(item.text, (text, attached) =>
      attempt(() => sendInBranch({ api, item, text, files: attached, storage }), 'The message was not sent.'),
    )
    await attempt(async () => {
      await writing?.attach(await Promise.all(item.files.map(toFile)))
    }, 'The files of the message could not be loaded.')
  }

  /** @param {import('../items.js').ShownFile} file */
  async function toFile(file) {
    const content = (await files.content(file, item.at)) ?? new Blob()
    return new File([content], file.name, { type: content.type })
  }
}

/** The text of the message that the person has selected, or ''. @param {Element | null} message */
function selectedIn(message) {
  const selection = getSelection()
  const isInside = message !== null && selection?.anchorNode != null && message.contains(selection.anchorNode)
  return isInside ? selection.toString().trim() : ''
}
