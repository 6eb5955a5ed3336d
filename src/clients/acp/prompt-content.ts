/**
 * The blocks of a prompt as a message of the gateway: one text, and the pictures that are uploaded with it.
 */
import type { ContentBlock, EmbeddedResourceResource, ImageContent, ResourceLink } from '@agentclientprotocol/sdk'

export interface PromptPicture {
  readonly name: string
  readonly content: Blob
}

/** Characters of one embedded file that a message contains. */
const maxResourceChars = 512 * 1_024

const pictureTypes: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
}

/**
 * What a person has typed comes first, so that a slash command stays one. Files of the editor follow as data: their text is not
 * what the person wrote. Never throws: what cannot be read is named.
 */
export function readPrompt(blocks: readonly ContentBlock[]) {
  const typed: string[] = []
  const data: string[] = []
  const pictures: PromptPicture[] = []
  for (const block of blocks) {
    switch (block.type) {
      case 'text':
        typed.push(block.text)
        break
      case 'image':
        addPicture(block, pictures, data)
        break
      case 'resource_link':
        typed.push(linkText(block))
        break
      case 'resource':
        addResource(block.resource, pictures, data)
        break
      default:
        data.push(`[The editor sent a part of the type ${block.type}, which is not supported.]`)
    }
  }
  const typedText = typed.join('')
  const text = [...(typedText.trim() === '' ? [] : [typedText]), ...data].join('\n\n')
  // A picture without a word is a message, too.
  return { text: text === '' && pictures.length > 0 ? '(see the picture)' : text, pictures }
}

/** A mention in the middle of a sentence. */
function linkText({ name, uri }: ResourceLink): string {
  const path = pathOfUri(uri)
  return path === undefined ? `[${oneLine(name)}](${oneLine(uri)})` : `\`${oneLine(path)}\``
}

function addPicture({ data, mimeType, uri }: ImageContent, pictures: PromptPicture[], texts: string[]): void {
  const extension = pictureTypes[mimeType.toLowerCase()]
  const bytes = Buffer.from(data, 'base64')
  if (extension === undefined || bytes.length === 0) {
    texts.push(`[A picture of the editor cannot be read: ${oneLine(mimeType)}, ${bytes.length} bytes.]`)
    return
  }
  const named = uri === undefined || uri === null ? undefined : pathOfUri(uri)?.split('/').at(-1)
  const name = named ?? `picture-${pictures.length + 1}.${extension}`
  pictures.push({ name, content: new Blob([bytes], { type: mimeType }) })
}

function addResource(resource: EmbeddedResourceResource, pictures: PromptPicture[], texts: string[]): void {
  const { uri } = resource
  const mimeType = resource.mimeType ?? ''
  if ('text' in resource) {
    texts.push(resourceText(uri, resource.text))
    return
  }
  if (mimeType.toLowerCase() in pictureTypes) {
    addPicture({ data: resource.blob, mimeType, uri }, pictures, texts)
    return
  }
  texts.push(`[The file ${oneLine(pathOfUri(uri) ?? uri)} is not text (${oneLine(mimeType) || 'no type'}).]`)
}

/** A fence that the text cannot close. */
function resourceText(uri: string, text: string): string {
  const cut = text.length > maxResourceChars ? text.slice(0, maxResourceChars).toWellFormed() : text
  const longest = Math.max(2, ...Array.from(cut.matchAll(/`{3,}/g), ([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  const note = cut === text ? '' : `\n[Cut to ${maxResourceChars} of ${text.length} characters.]`
  return `[File of the editor: ${oneLine(pathOfUri(uri) ?? uri)}]\n${fence}\n${cut}\n${fence}${note}`
}

/** Returns the path of a `file:` address of this machine, with the lines that it names. */
function pathOfUri(uri: string): string | undefined {
  if (uri.startsWith('/')) return uri
  if (!URL.canParse(uri)) return undefined
  const { protocol, host, pathname, hash } = new URL(uri)
  if (protocol !== 'file:' || (host !== '' && host !== 'localhost')) return undefined
  const lines = /^#L(\d+)(?:[:-]L?(\d+))?$/.exec(hash)
  return `${decode(pathname)}${lines === null ? '' : `:${lines[1]}${lines[2] === undefined ? '' : `-${lines[2]}`}`}`
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    // It is not encoded, so it is the path itself.
    return path
  }
}

function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
}
