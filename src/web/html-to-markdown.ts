/**
 * The readable part of an HTML page as Markdown, without menus, scripts and forms. Runs in a thread of its own.
 */
import { htmlToMarkdown as convert, withMinimalPreset } from '@mdream/js'

/** A main part with less text is not what the page is about: a notice, or a frame that a script fills. */
const minMainChars = 200

export type ConvertedPage = ReturnType<typeof htmlToMarkdown>

/** Never throws for malformed HTML. Takes a time in proportion to the size of the page. */
export function htmlToMarkdown(html: string, url: string) {
  /** '' if the page has none. */
  let title = ''
  const frontmatter = (fields: Record<string, string>) => {
    title = fields['title'] ?? ''
  }
  const origin = URL.parse(url)?.origin ?? ''
  const run = (isolateMain: boolean) =>
    tidy(
      convert(html, withMinimalPreset({ origin, plugins: { frontmatter: { onExtract: frontmatter }, isolateMain } })),
    )
  const main = run(true)
  return { content: main.length >= minMainChars ? main : run(false), title }
}

/** The head of the page is returned as the title. Pictures inside of the page are long and say nothing. */
function tidy(markdown: string): string {
  return markdown
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .replace(/!\[[^\]\n]{0,500}\]\(data:[^)\s]*\)/g, '')
    .trim()
}
