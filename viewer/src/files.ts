// The files the page was given, and those a person opens.

/** What `heatskin view` writes into the page. `data` is the id of an element with the bytes in base64: pages that open from disk may not fetch. */
export interface GivenFile {
  name: string;
  url?: string;
  data?: string;
  bytes: number;
  original?: GivenFile;
}

export function givenFiles(): GivenFile[] {
  const element = document.getElementById('heatskin-files');
  return element ? (JSON.parse(element.textContent || '[]') as GivenFile[]) : [];
}

export type Progress = (fraction: number | undefined, words: string) => void;

async function fetched(url: string, total: number, progress: Progress): Promise<ArrayBuffer> {
  const response = await fetch(url);
  if (!response.ok || !response.body) throw new Error(`the server answered ${response.status}`);
  const reader = response.body.getReader(), parts: Uint8Array[] = [];
  let count = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    count += value.length;
    progress(total > 0 ? count / total : undefined, 'Loading');
  }
  const out = new Uint8Array(count);
  let at = 0;
  for (const part of parts) { out.set(part, at); at += part.length; }
  return out.buffer;
}

/** The bytes of a file. */
export async function bytesOf(file: GivenFile | File, progress: Progress): Promise<ArrayBuffer> {
  progress(undefined, 'Loading');
  if (file instanceof File) return file.arrayBuffer();
  if (file.data) {
    const text = document.getElementById(file.data)?.textContent?.trim() ?? '';
    return Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  }
  return fetched(file.url ?? '', file.bytes, progress);
}
